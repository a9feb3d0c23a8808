def fn(n: int):
  raise 'x'
