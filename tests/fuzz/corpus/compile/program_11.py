def fn(n: int):
  x: Optional[int] = None
  if n > 0:
    x = n
  if x is None:
    return 0
  return x + 1
