$ ingot compile mlp.pt2 -o mlp.ingot | sed 's/avx512\|avx2\|neon\|base/SET/'

$ ingot run mlp.ingot -i mlp.in.npz -c mlp.out.npz

$ ingot info mlp.ingot | head -1

$ ingot show mlp.ingot | head -3

$ ingot compile mlp.pt2

$ ingot compile mlp.in.npz -o x.ingot

$ head -c 100 mlp.ingot > part.ingot; ingot verify part.ingot
