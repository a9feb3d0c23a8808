def fn(n: int):
  s = 0
  for a, b in zip([1, 2, 3], [4, 5]):
    s += a * b
  return s + n
