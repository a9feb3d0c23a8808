def fn(n: int):
  return n / 2, n // 2, n % 2
