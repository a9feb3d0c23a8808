def fn(n: int):
  a, b = (1, 2, 3)
