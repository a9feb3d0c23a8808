def fn(n: int):
  a, *b, d = (n, 2, 3, 4)
  return a, b, d
