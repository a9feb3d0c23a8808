def f(x: int, *, y=[1, 2], **kw) -> List[int]:
    # type: (int) -> int
    a, *b = x[1:2, ..., None], -2 ** 2, not a in b is not c
    z = [i for i in range(3) if i > 1]
    s = f"a{x!r:>{w}}b{{}}" 'q\n\x41'
    if a < b < c: return a if b else c
    x += 1; y: int = 3
    with a as b, c: pass
    lam = lambda u, v=2: u + v
    {**a, 1: 2}; {1, 2}; {k: v for k, v in d.items()}
