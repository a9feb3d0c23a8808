def fn(n: int):
  if n > 1:
    y = 1
  return y
