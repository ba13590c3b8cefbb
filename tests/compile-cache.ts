import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where processes that tests start keep what they have compiled. */
export const compileCache: string = join(tmpdir(), 'toolloop-compiled-tests')
