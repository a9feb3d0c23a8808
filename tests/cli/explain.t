# What the codes of error messages mean.
$ head -c 4000 mlp.pt2 > cut.pt2; ingot info cut.pt2
2> ingot: cut.pt2: not a zip archive (no end of central directory in 4000 bytes)
2>   more: ingot explain IG0103
[3]

$ ingot explain IG0103
IG0103: the zip archive is damaged

`.pt2`, TorchScript, torch.save and `.npz` files are zip archives. The directory
of an archive is at its end, so a file that was cut off has none. Other damage
shows as entries that lie outside of the file, overlap, occur twice, or differ
between the directory and the data.

Archives that two programs could read differently are refused as well, because a
check by one of them would say nothing about the other.

For example

    import ingot as torch

    program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    torch.export.save(program, "model.pt2")
    with open("model.pt2", "r+b") as f:
        f.truncate(2000)
    torch.export.load("model.pt2")

raises

    model.pt2: not a zip archive (no end of central directory in 2000 bytes) (example.py:7)

What to do

Compare size and checksum with those of the source, and copy or download the
file again. `unzip -t FILE` gives a second opinion. If the file was written by a
tool of your own, let it write plain zip entries, each with one name, stored or
deflated.

$ ingot explain 101 --json
{
  "code": "IG0101",
  "title": "the file is not a model",
  "cause": "The kind of a file is recognised by its first bytes and, for archives, by their members, never by its name. This one is none of the kinds that are read: `.pt2`, TorchScript, torch.save, safetensors, `.npz`, `.npy` and ONNX.\n\nThe usual reasons: a download that ended in an error page, a Git LFS pointer instead of the file, a file that is still compressed, or a pickle that `pickle.dump` and not `torch.save` wrote.",
  "example": "import ingot\n\nwith open(\"model.pt2\", \"w\") as f:\n    f.write(\"<!DOCTYPE html><title>404</title>\")\ningot.open(\"model.pt2\")\n",
  "message": "model.pt2: this is an HTML or XML page; the download may have failed",
  "remedy": "Look at the beginning of the file (`head -c 200 FILE`). Fetch it again (`git lfs pull` for a pointer), unpack it (`gunzip`, `unzstd`), or save it again with `torch.export.save`, `torch.onnx.export` or `torch.save`."
}

$ ingot explain | head -3
IG0101  the file is not a model
IG0102  the file is of another kind than this function reads
IG0103  the zip archive is damaged

$ ingot explain --json | python3 -c "import json, sys; print(*[row['code'] for row in json.load(sys.stdin)][:3])"
IG0101 IG0102 IG0103

$ ingot explain IG0101 IG9999 > /dev/null
2> ingot: 'IG9999' is not the code of an error; ingot explain lists all
[2]

$ ingot explain --help
usage: ingot explain [CODE ...] [--json]

Many error messages are followed by a code. Its explanation tells the cause, shows a
program that raises the error, and says what to do. Without a code all are listed.

options:
      --json                  JSON output; docs/command.md lists the fields
      --max-memory SIZE       limit on memory in use: bytes, or 512M, 4G (default: the
                              machine's memory)
      --max-time SECONDS      limit on run time (default: none)
      --max-work N            limit on operator calls and loop iterations (default: 1e9)
      --color WHEN            auto (default), always or never
  -h, --help                  this text

examples:
  ingot explain IG0103
      what the code after an error message means, and what to do
  ingot explain
      all codes

exit codes: 0 success, 1 numbers disagree, 2 wrong command line, 3 file rejected,
            4 file cannot be read or written, 5 running failed
