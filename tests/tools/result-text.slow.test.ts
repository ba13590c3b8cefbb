import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { capContent } from '../../src/tools/result-text.ts'
import { threadCpuMs } from '../reference-pace.ts'

const bytesOf = (text: string) => Buffer.byteLength(text)

const note = /\n\n\(… (\d+) of (\d+) bytes cut here …\)\n\n/

describe('capContent', () => {
  it('H22 caps 50 MB without copying it repeatedly, and releases it', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const most = 65_536
    let kept: string
    {
      // A flat text in one piece, so that a slice would keep it in memory.
      const huge = Buffer.alloc(50_000_000, 'é').toString()
      const start = threadCpuMs()
      const { content, cutBytes } = capContent(huge, most)
      expect(threadCpuMs() - start).toBeLessThan(2_000)
      kept = String(content)
      expect(cutBytes).toBe(50_000_000 - bytesOf(kept.replace(note, '')))
    }
    expect(bytesOf(kept)).toBeLessThanOrEqual(most)
    // Ten results of 10 MB kept as slices would hold 100 MB.
    const results: string[] = [kept]
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 10; i++) results.push(String(capContent(Buffer.alloc(10_000_000, 'x').toString(), most).content))
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000)
    expect(results).toHaveLength(11)
  })
})
