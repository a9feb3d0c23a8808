def fn(n: int):
  y = 1
  if n > 1:
    y = 2.5
  return y
