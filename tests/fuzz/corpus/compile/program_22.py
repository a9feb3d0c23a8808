def fn(n: int) -> str:
  return n
