$ ingot verify mlp.pt2
mlp.pt2: sound exported program (.pt2), 10.9 kB, 13 members, 9 nodes, 4 tensors

$ ingot verify counter.io.npz
counter.io.npz: sound NumPy archive (.npz), 1.1 kB, 4 members, 4 tensors

$ ingot verify --json mlp.pt2
{
  "file": "mlp.pt2",
  "sound": true,
  "kind": "pt2",
  "code": "ok",
  "error": null,
  "explanation": null
}

# One byte of a weight is another: only reading it all finds that.
$ python3 -c "b = bytearray(open('mlp.pt2', 'rb').read()); i = b.find(b'data/weights/weight_0'); i = (i // 64 + 1) * 64; b[i] ^= 1; open('bad.pt2', 'wb').write(b)"; ingot verify bad.pt2
2> ingot: bad.pt2: zip entry 'mlp/data/weights/weight_0' at offset 0 is damaged: checksum 4de1794b, expected 7e1e8c78
2>   more: ingot explain IG0104
[3]

$ ingot verify --json bad.pt2
{
  "file": "bad.pt2",
  "sound": false,
  "kind": "pt2",
  "code": "malformed text",
  "error": "zip entry 'mlp/data/weights/weight_0' at offset 0 is damaged: checksum 4de1794b, expected 7e1e8c78",
  "explanation": "IG0104"
}
[3]

$ head -c 4000 mlp.pt2 > cut.pt2; ingot verify cut.pt2
2> ingot: cut.pt2: not a zip archive (no end of central directory in 4000 bytes)
2>   more: ingot explain IG0103
[3]

$ ingot verify missing.pt2
2> ingot: missing.pt2: No such file or directory
2>   more: ingot explain IG0505
[4]

# Several files: every one is checked, and the exit code is the largest.
$ ingot verify mlp.pt2 missing.pt2 counter.io.npz
mlp.pt2: sound exported program (.pt2), 10.9 kB, 13 members, 9 nodes, 4 tensors
counter.io.npz: sound NumPy archive (.npz), 1.1 kB, 4 members, 4 tensors
2> ingot: missing.pt2: No such file or directory
2>   more: ingot explain IG0505
[4]

$ ingot verify
2> ingot verify: 0 files given, expected at least 1
2> usage: ingot verify FILE ... [--json]
2>        ingot verify --help has details
[2]
