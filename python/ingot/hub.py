# SPDX-License-Identifier: Apache-2.0
"""torch.hub: models of a folder with a hubconf.py, and state dicts of files in the cache or downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import uuid
import warnings
import zipfile
from typing import Any
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
READ_DATA_CHUNK = 128 * 1024
_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded repositories and files."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Choose the folder of downloaded repositories and files."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _import_module(name: str, path: str) -> Any:
    """The module of a file, by a name of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"torch.hub: {path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _folder(repo_or_dir: str, source: str, force_reload: bool, verbose: bool) -> str:
    """The folder of a repository: the named one, or the one of the cache, downloaded if need be."""
    if source == "local":
        return repo_or_dir
    if source != "github":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    repo, _, ref = repo_or_dir.partition(":")
    owner, _, name = repo.partition("/")
    ref = ref or "main"
    target = os.path.join(get_dir(), f"{owner}_{name}_{ref.replace('/', '_')}")
    if os.path.exists(target) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {target}\n")
        return target
    os.makedirs(get_dir(), exist_ok=True)
    archive = os.path.join(get_dir(), f"{uuid.uuid4().hex}.zip")
    try:
        download_url_to_file(f"https://github.com/{owner}/{name}/zipball/{ref}", archive, progress=False)
        with tempfile.TemporaryDirectory(dir=get_dir()) as folder, zipfile.ZipFile(archive) as files:
            files.extractall(folder)
            inside = os.path.join(folder, os.listdir(folder)[0])
            if os.path.exists(target):
                shutil.rmtree(target)
            shutil.move(inside, target)
    finally:
        if os.path.exists(archive):
            os.remove(archive)
    return target


def _config(folder: str) -> Any:
    """The hubconf of a folder, whose dependencies are checked."""
    sys.path.insert(0, folder)
    try:
        module = _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
    finally:
        sys.path.remove(folder)
    missing = [m for m in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(m) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """What the entry `model` of a hubconf.py returns for the arguments."""
    source = source.lower()
    folder = _folder(repo_or_dir, source, force_reload, verbose)
    sys.path.insert(0, folder)
    try:
        return _entry(_config(folder), model)(*args, **kwargs)
    finally:
        sys.path.remove(folder)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None,
         verbose: bool = True) -> Any:  # fmt: skip
    """The names of the entries of a hubconf.py; a path of a folder works as well."""
    local = os.path.isdir(github)
    module = _config(_folder(github, "local" if local else "github", force_reload, verbose))
    return [f for f in dir(module) if callable(getattr(module, f)) and not f.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None) -> Any:  # fmt: skip
    """The docstring of an entry."""
    local = os.path.isdir(github)
    module = _config(_folder(github, "local" if local else "github", force_reload, True))
    return _entry(module, model).__doc__


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Write what an address answers to a file, checked against the beginning of its SHA-256."""
    from urllib.request import Request, urlopen

    target = os.path.expanduser(dst)
    part = f"{target}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer, open(part, "wb") as file:
            while chunk := answer.read(READ_DATA_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if hash_prefix and digest.hexdigest()[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        shutil.move(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> Any:  # fmt: skip
    """The state dict of the file in the cache; it is downloaded first if it is not there."""
    import ingot

    folder = model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    if zipfile.is_zipfile(path) and not _is_archive(path):
        with zipfile.ZipFile(path) as files:
            inside = files.infolist()
            if len(inside) != 1:
                raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
            files.extractall(folder)
            path = os.path.join(folder, inside[0].filename)
    return ingot.load(path, map_location=map_location, weights_only=weights_only)


def _is_archive(path: str) -> bool:
    """Whether a zip file is one of torch.save."""
    with zipfile.ZipFile(path) as files:
        return any(name.endswith("data.pkl") for name in files.namelist())
