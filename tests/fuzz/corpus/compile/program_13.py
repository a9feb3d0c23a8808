def fn(n: int):
  return 'n={} {}'.format(n, 'x'), f'<{n}>', 'b' in 'abc'
