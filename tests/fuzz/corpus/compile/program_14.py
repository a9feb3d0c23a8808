def fn(n: int):
  return n > 1 and n < 5, n > 9 or n == 3, not n > 2
