def fn(n: int):
  for i in range(n):
    if i * i > n:
      return i
  return -1
