def fn(n: int):
  d = {'a': n}
  d['b'] = 2
  return d['a'] + d['b'], 'a' in d, len(d)
