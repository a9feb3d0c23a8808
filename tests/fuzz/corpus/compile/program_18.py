def fn(n: int):
  return m
