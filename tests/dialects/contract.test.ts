import { describe, expect, it } from 'vitest'
import { testDialect } from '../../src/dialects/contract-dialect.ts'
import { dialects } from '../../src/dialects/dialects.ts'

for (const dialect of dialects) testDialect(`contract of ${dialect.name}`, dialect, { describe, it, expect })
