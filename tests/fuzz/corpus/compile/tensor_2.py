def fn(s: str, k: Optional[int]):
  n = 1 if k is None else k
  while n < 100 and not s.endswith("z"):
    n *= 2
    if n > 50:
      s += "z"
  assert n > 0, f"n={n}"
  return s.split(" "), n
