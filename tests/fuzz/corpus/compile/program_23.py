def fn(n: int):
  break
