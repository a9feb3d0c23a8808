# What the command says of itself.
$ ingot --version
ingot 0.1.0

$ ingot --help
ingot 0.1.0: inspects, runs, converts and compares model files

usage: ingot COMMAND FILE [OPTIONS]

commands:
  info          describe a file: inputs, outputs, weights, operators, what is unsupported
  show          print a program: as code, as a graph, as a tree of modules, as a plan
  run           run a model on arrays; compare the results, dump every value
  convert       write a file in another format, and check the copy
  compile       write a model with packed weights, which opens and starts in milliseconds
  diff          compare two models: structure, weights, and what they compute
  bisect        the first value in which two models or two runtimes differ
  verify        check a file by every rule of loader and verifier; nothing is executed
  shapes        list dynamic sizes: symbol, range, relations, source line
  stats         the numbers in the weights: extremes, histograms, zeros, NaN, repetitions
  view          a page to look around in: modules, nodes, shapes, weights; or a drawing
  bench         measure: p50, p90, p99, share of each operator, memory
  score         run a model over a file of rows: one result per row, restartable
  simplify      an ONNX model with fewer nodes and the same results
  extract       a part of an ONNX model
  rename        other names for inputs, outputs, values, nodes and dimensions
  fix-size      numbers for the dynamic sizes of an ONNX model
  free-size     a dynamic size in place of a number
  merge         two ONNX models, one behind the other, as one
  split-weights the weights of an ONNX model in a file beside it, or back
  quantize      an ONNX model with weights of 8 or 4 bits
  explain       the cause of an error by its code, an example, and what to do
  completion    a script by which a shell completes commands, options and files

FILE is a .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot file, recognised
by its content; - is stdin. ingot COMMAND --help has details and examples; man ingot is the
full reference.

exit codes: 0 success, 1 numbers or models differ, 2 wrong command line, 3 file rejected,
            4 file cannot be read or written, 5 running failed

$ ingot help info
usage: ingot info FILE ... [--json] [--all | --layers [--size NAME=N] [--depth N]]

Kind and versions of a file, inputs and outputs with named sizes and their ranges, weights,
operators by count, metadata, extra files, and what is unsupported and why.

options:
      --json                  JSON output; docs/command.md lists the fields
  -a, --all                   every weight, operator and member of the archive
  -l, --layers                instead: parameters, FLOPs and memory of results by module
      --size NAME=N           --layers: for this value of a dynamic size
      --depth N               --layers: only modules up to this depth
      --max-memory SIZE       limit on memory in use: bytes, or 512M, 4G (default: the
                              machine's memory)
      --max-time SECONDS      limit on run time (default: none)
      --max-work N            limit on operator calls and loop iterations (default: 1e9)
      --color WHEN            auto (default), always or never
  -h, --help                  this text

examples:
  ingot info model.pt2
      inputs, outputs, sizes, weights, operators, what is unsupported
  ingot info model.pt2 --json | jq '.inputs[].name'
      the names of the inputs
  ingot info model.pt2 --layers --depth 2 --size batch=8
      what the modules cost
  curl -s URL | ingot info -
      a file from elsewhere; nothing in it is executed

exit codes: 0 success, 1 numbers disagree, 2 wrong command line, 3 file rejected,
            4 file cannot be read or written, 5 running failed

$ ingot --color=sometimes info mlp.pt2
2> ingot: --color: 'sometimes' is not one of auto, always, never
[2]

$ ingot
2> ingot 0.1.0: inspects, runs, converts and compares model files
2> 
2> usage: ingot COMMAND FILE [OPTIONS]
2> 
2> commands:
2>   info          describe a file: inputs, outputs, weights, operators, what is unsupported
2>   show          print a program: as code, as a graph, as a tree of modules, as a plan
2>   run           run a model on arrays; compare the results, dump every value
2>   convert       write a file in another format, and check the copy
2>   compile       write a model with packed weights, which opens and starts in milliseconds
2>   diff          compare two models: structure, weights, and what they compute
2>   bisect        the first value in which two models or two runtimes differ
2>   verify        check a file by every rule of loader and verifier; nothing is executed
2>   shapes        list dynamic sizes: symbol, range, relations, source line
2>   stats         the numbers in the weights: extremes, histograms, zeros, NaN, repetitions
2>   view          a page to look around in: modules, nodes, shapes, weights; or a drawing
2>   bench         measure: p50, p90, p99, share of each operator, memory
2>   score         run a model over a file of rows: one result per row, restartable
2>   simplify      an ONNX model with fewer nodes and the same results
2>   extract       a part of an ONNX model
2>   rename        other names for inputs, outputs, values, nodes and dimensions
2>   fix-size      numbers for the dynamic sizes of an ONNX model
2>   free-size     a dynamic size in place of a number
2>   merge         two ONNX models, one behind the other, as one
2>   split-weights the weights of an ONNX model in a file beside it, or back
2>   quantize      an ONNX model with weights of 8 or 4 bits
2>   explain       the cause of an error by its code, an example, and what to do
2>   completion    a script by which a shell completes commands, options and files
2> 
2> FILE is a .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot file, recognised
2> by its content; - is stdin. ingot COMMAND --help has details and examples; man ingot is the
2> full reference.
2> 
2> exit codes: 0 success, 1 numbers or models differ, 2 wrong command line, 3 file rejected,
2>             4 file cannot be read or written, 5 running failed
[2]

$ ingot dance
2> ingot: unknown command 'dance'; ingot --help lists all
[2]

$ ingot rnu mlp.pt2
2> ingot: unknown command 'rnu'; did you mean run?
[2]

$ ingot --hepl
2> ingot: unknown option '--hepl'; ingot --help lists all
[2]

$ ingot help runn
2> ingot: unknown command 'runn'; did you mean run?
[2]

$ ingot run
2> ingot run: 0 files given, expected 1
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 cnn.pt2
2> ingot run: 2 files given, expected 1
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 --inputz x.npz
2> ingot run: unknown option '--inputz'; did you mean --inputs?
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 --loudly
2> ingot run: unknown option '--loudly'
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 --inputs
2> ingot run: --inputs needs a value: FILE
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 --threads many
2> ingot run: --threads: 'many' is not a whole number
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot run mlp.pt2 --random=3
2> ingot run: --random takes no value
2> usage: ingot run FILE [--inputs FILE.npz] [--output FILE.npz] [--check FILE.npz] [OPTIONS]
2>        ingot run --help has details
[2]

$ ingot info missing.pt2
2> ingot: missing.pt2: No such file or directory
2>   more: ingot explain IG0505
[4]

$ ingot info .
2> ingot: .: not a regular file
2>   more: ingot explain IG0505
[4]

# Files are known by their content, whatever their name.
$ cp mlp.in.npz x.onnx && ingot info x.onnx
x.onnx: NumPy archive (.npz), 312 B
weights 1 tensor, 12 elements, 48 B
  arr_0                    float32[3, 4]

$ printf 'version https://git-lfs.github.com/spec/v1\noid ...\n' > lfs.pt2 && ingot info lfs.pt2
2> ingot: lfs.pt2: this is a Git LFS pointer, not the file itself; run: git lfs pull
2>   more: ingot explain IG0101
[3]

$ printf '\037\213\010' > z.pt2 && ingot info z.pt2
2> ingot: z.pt2: this is compressed with gzip; unpack it first
2>   more: ingot explain IG0101
[3]

$ printf 'hello' > h.pt2 && ingot info h.pt2
2> ingot: h.pt2: not a model file: it begins with 68 65 6c 6c 6f; expected .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot
2>   more: ingot explain IG0101
[3]

$ : > empty.pt2 && ingot info empty.pt2
2> ingot: empty.pt2: the file is empty; expected .pt2, TorchScript, torch.save, safetensors, .npz, .npy, ONNX or .ingot
2>   more: ingot explain IG0101
[3]

$ head -c 4000 mlp.pt2 > cut.pt2 && ingot info cut.pt2
2> ingot: cut.pt2: not a zip archive (no end of central directory in 4000 bytes)
2>   more: ingot explain IG0103
[3]

# stdin, colours, a closed pipe
$ ingot info --color=always mlp.in.npz | cat -v
^[[1mmlp.in.npz^[[0m: NumPy archive (.npz), 312 B
^[[1mweights^[[0m 1 tensor, 12 elements, 48 B
  ^[[36marr_0                   ^[[0m float32[3, 4]

$ NO_COLOR=1 ingot --color always verify mlp.in.npz | cat -v
^[[1mmlp.in.npz^[[0m: ^[[32msound^[[0m NumPy archive (.npz), 312 B, 1 members, 1 tensors

$ ingot info mlp.pt2 > /dev/full
2> ingot: the output could not be written
[4]

$ ingot completion bash > c.sh; source c.sh; COMP_WORDS=(ingot st); COMP_CWORD=1; _ingot; echo ${COMPREPLY[@]}
stats

$ source c.sh; COMP_WORDS=(ingot stats --); COMP_CWORD=2; _ingot; echo ${COMPREPLY[@]}
--only --finite --json --max-memory --max-time --max-work --color --help

$ source c.sh; COMP_WORDS=(ingot stats --only ml); COMP_CWORD=3; _ingot; echo ${#COMPREPLY[@]}
0

$ source c.sh; COMP_WORDS=(ingot stats mlp.p); COMP_CWORD=2; _ingot; echo ${COMPREPLY[@]}
mlp.pt2

$ source c.sh; COMP_WORDS=(ingot run m.pt2 --check counter.io); COMP_CWORD=4; _ingot; echo ${COMPREPLY[@]}
counter.io.npz

$ source c.sh; COMP_WORDS=(ingot run --color a); COMP_CWORD=3; _ingot; echo ${COMPREPLY[@]}
auto always

$ ingot completion tcsh
2> ingot completion: 'tcsh' is not one of bash, zsh, fish
2> usage: ingot completion bash | zsh | fish
2>        ingot completion --help has details
[2]
