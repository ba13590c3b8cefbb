import type { Transform } from 'node:stream'

/** Gives back a body as it was before the server compressed it; undefined for one that isn't, or not in a way that is known. */
export function decoderFor(encoding: string): Transform | undefined {
  // Loaded when it is needed: nothing is asked to be compressed, because that would delay a stream's pieces.
  const zlib = process.getBuiltinModule('node:zlib')
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'deflate':
      return zlib.createInflate({ flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH })
    case 'br':
      return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return zlib.createZstdDecompress({ flush: ZSTD_e_flush, finishFlush: ZSTD_e_flush })
    default:
      return undefined
  }
}
