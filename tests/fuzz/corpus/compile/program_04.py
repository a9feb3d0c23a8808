def fn(n: int):
  i = 0
  while i < n:
    i += 1
    if i == 3:
      break
  return i
