def fn(n: int):
  return n(1)
