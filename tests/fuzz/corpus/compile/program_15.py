def fn(n: int):
  s = 0
  for i, x in enumerate([5, 6, 7], n):
    s += i * x
  return s
