$ ingot compile mlp.pt2 -o mlp.ingot | sed 's/avx512\|avx2\|neon\|base/SET/'
mlp.ingot: 15.0 kB, 0 layers packed for SET

$ ingot run mlp.ingot -i mlp.in.npz -c mlp.out.npz
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot info mlp.ingot | head -1
mlp.ingot: compiled model (.ingot), 15.0 kB

$ ingot show mlp.ingot | head -3
def forward(self, p_fc1_weight, p_fc1_bias, p_fc2_weight, p_fc2_bias, x):
    linear = torch.ops.aten.linear.default(x, p_fc1_weight, p_fc1_bias);  x = p_fc1_weight = p_fc1_bias = None
    relu = torch.ops.aten.relu.default(linear);  linear = None

$ ingot compile mlp.pt2
2> ingot compile: -o OUT is missing
2> usage: ingot compile FILE -o OUT [--precision KIND [--report FILE]] [OPTIONS]
2>        ingot compile --help has details
[2]

$ ingot compile mlp.in.npz -o x.ingot
2> ingot: mlp.in.npz: the file holds no program to run
2>   more: ingot explain IG0405
[3]

$ head -c 100 mlp.ingot > part.ingot; ingot verify part.ingot
2> ingot: part.ingot: a compiled model: the file has not the size that it states
2>   more: ingot explain IG0122
[3]

$ ingot compile mlp.pt2 -o mlp8.ingot --precision int8 --report mlp.in.npz | sed 's/avx512\|avx2\|neon\|base/SET/'
  linear +\S+ +int8 +aten.linear.default \+ aten.relu.default (re)
  linear_1 +\S+ +int8 +aten.linear.default (re)
2 of 2 layers are int8, largest error \S+ (re)
mlp8.ingot: \S+ kB, 2 layers packed for SET (re)

$ ingot run mlp8.ingot -i mlp.in.npz -c mlp.out.npz --rtol 0.1 --atol 0.1
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot compile mlp.pt2 -o x.ingot --precision int3
2> ingot compile: --precision: 'int3' is not one of f32, bf16, f16, int8, int4, dynamic_int8
2> usage: ingot compile FILE -o OUT [--precision KIND [--report FILE]] [OPTIONS]
2>        ingot compile --help has details
[2]

$ ingot compile mlp.pt2 -o x.ingot --report mlp.in.npz
2> ingot compile: --report: there is nothing to report without a low --precision
2> usage: ingot compile FILE -o OUT [--precision KIND [--report FILE]] [OPTIONS]
2>        ingot compile --help has details
[2]
