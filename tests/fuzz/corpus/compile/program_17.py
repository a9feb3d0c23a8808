def fn(n: int):
  x = 1 if n > 2 else 2
  y = z = x
  return y, z
