import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FileText, readFileTool } from '../../../src/tools/builtin/read-file.ts'
import { callTool, makeTree } from './workbench.ts'

const read = (workspace: string, args: object, signal?: AbortSignal) => callTool<FileText>(readFileTool({ workspace }), args, signal)

describe('read_file', () => {
  it('reads a huge file without loading it', async () => {
    const folder = makeTree({ 'huge.txt': `first\n${'x'.repeat(9000)}\n` })
    const bytes = 200 * 1024 * 1024
    truncateSync(join(folder, 'huge.txt'), bytes)
    const before = process.memoryUsage().rss
    const found = await read(folder, { path: 'huge.txt', to: 1 })
    expect(found).toMatchObject({ to: 1, totalLines: 3, bytes, text: 'first\n' })
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024)
  })
})
