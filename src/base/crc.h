// SPDX-License-Identifier: Apache-2.0
// CRC-32 as zip, gzip and PNG compute it (polynomial 0x04c11db7, bits reflected).
#ifndef BASE_CRC_H_
#define BASE_CRC_H_

#include <stddef.h>
#include <stdint.h>

// The checksum of what `crc` is the checksum of (0: nothing yet), followed by these bytes.
uint32_t ig_crc32(uint32_t crc, const uint8_t *data, size_t n);
// The same by tables on every processor; tests compare the two.
uint32_t ig_crc32_portable(uint32_t crc, const uint8_t *data, size_t n);

#endif
