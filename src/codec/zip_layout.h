// SPDX-License-Identifier: Apache-2.0
// Signatures, sizes and flags of zip records (APPNOTE 6.3), for the reader and the writer.
#ifndef CODEC_ZIP_LAYOUT_H_
#define CODEC_ZIP_LAYOUT_H_

enum {
  ZIP_LOCAL = 0x04034b50,
  ZIP_CENTRAL = 0x02014b50,
  ZIP_END = 0x06054b50,
  ZIP_END64 = 0x06064b50,
  ZIP_LOCATOR64 = 0x07064b50,

  ZIP_LOCAL_SIZE = 30,
  ZIP_CENTRAL_SIZE = 46,
  ZIP_END_SIZE = 22,
  ZIP_END64_SIZE = 56,
  ZIP_LOCATOR64_SIZE = 20,

  ZIP_FLAG_ENCRYPTED = 1,
  ZIP_FLAG_DESCRIPTOR = 8,  // sizes and checksum follow the data
  ZIP_FLAG_PATCH = 0x20,
  ZIP_FLAG_STRONG = 0x40,
  ZIP_FLAG_UTF8 = 0x800,
  ZIP_FLAG_MASKED = 0x2000,

  ZIP_STORED = 0,
  ZIP_DEFLATED = 8,
  ZIP_EXTRA64 = 1,
  ZIP_EXTRA_PAD = 0x4246,  // "FB", PyTorch's filler
  ZIP_DATE = 0x21,         // 1980-01-01, the first date there is
  ZIP_UNIX = 3,            // made on Unix: the mode is in the external attributes
  ZIP_UNIX_TYPE = 0170000,
  ZIP_UNIX_FILE = 0100000,
  ZIP_UNIX_FOLDER = 0040000,
  ZIP_UNIX_LINK = 0120000,
  ZIP_VERSION = 20,
  ZIP_VERSION64 = 45,
};
#define ZIP_MAX32 0xFFFFFFFFu
#define ZIP_MAX16 0xFFFFu

#endif
