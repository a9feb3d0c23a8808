$ ingot bench mlp.pt2 --seconds 0 --threads 1 --json | python3 -c "import json, sys; d = json.load(sys.stdin); print(sorted(d)); print(d['threads'], d['runs'], len(d['samples_us']), [o['name'] for o in d['operators']] != [], d['p50_us'] <= d['p99_us'])"
['best_us', 'file', 'first_us', 'load_us', 'operators', 'p50_us', 'p90_us', 'p99_us', 'peak_bytes', 'runs', 'samples_us', 'threads', 'weight_bytes']
1 1 1 True True

$ ingot bench mlp.pt2 --seconds 0 --threads 2 | sed 's/[0-9.]\+ [umM][sB]/TIME/g; s/ *[0-9.]\+ %/SHARE/; s/ \+/ /g' | grep -v '^SHARE'
mlp.pt2: 1 runs, 2 threads
 p50 TIME
 p90 TIME
 p99 TIME
 best TIME
 first run TIME
 load TIME
 memory 232 B weights, TIME at most
operators

$ ingot bench mlp.in.npz
2> ingot: mlp.in.npz: the file holds no program to run
2>   more: ingot explain IG0405
[3]

$ ingot bench mlp.pt2 --inputs cnn.in.npz --seconds 0
2> ingot: mlp.pt2: input 'x': found 4 dimensions, expected 2
2>   more: ingot explain IG0404
2>   given by cnn.in.npz
[5]

$ ingot bench mlp.pt2 --seconds 0 --threads 1 --profile | grep -c 'aten.linear.default  linear'
2

$ ingot bench mlp.pt2 --seconds 0 --threads 1 --profile | sed -n 's/ \+/ /g; /share/p; /peak:/s/[0-9.]\+/RATE/p'
 share us GFLOP/s peak GB/s step
 peak: RATE GFLOP/s, f32, as a loop of nothing else reaches

$ ingot bench mlp.pt2 --seconds 0 --threads 1 --profile --json | python3 -c "import json, sys; d = json.load(sys.stdin); print([(s['flops'], s['bytes']) for s in d['steps']], d['peak_flops'] > 1e8)"
[(192, 304), (24, 192), (96, 192)] True

$ ingot bench mlp.pt2 --seconds 0 --threads 1 --trace t.json > /dev/null && python3 -c "import json; e = json.load(open('t.json'))['traceEvents']; print([(x['name'], x['ph'], x['args']['flops']) for x in e], all(a['ts'] + a['dur'] <= b['ts'] for a, b in zip(e, e[1:])))"
[('linear', 'X', 192.0), ('relu', 'X', 24.0), ('linear_1', 'X', 96.0)] True
