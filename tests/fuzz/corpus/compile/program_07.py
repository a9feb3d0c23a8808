def fn(n: int):
  if n > 3:
    r = 'big'
  elif n > 1:
    r = 'mid'
  else:
    r = 'small'
  return r
