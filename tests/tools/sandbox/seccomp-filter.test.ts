import { describe, expect, it } from 'vitest'
import { checkedCalls, deniedCalls, namingCalls } from '../../../src/tools/sandbox/process/denied-calls.ts'
import { isFiltered, seccompFilter } from '../../../src/tools/sandbox/process/seccomp-filter.ts'

const archs = { x64: { audit: 0xc000_003e, column: 0 }, arm64: { audit: 0xc000_00b7, column: 1 } } as const
type Arch = keyof typeof archs

const [allow, eperm, enosys, kill] = [0x7fff_0000, 0x0005_0001, 0x0005_0026, 0x8000_0000]

/** Interprets the program like a kernel: the part of classic BPF that seccomp accepts. */
function decide(program: Buffer, { nr, arch, args = [] }: { nr: number; arch: number; args?: readonly (number | bigint)[] }): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(nr >>> 0, 0)
  data.writeUInt32LE(arch, 4)
  args.forEach((arg, index) => void data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(arg)), 16 + 8 * index))
  let accumulator = 0
  for (let at = 0; at < program.length / 8; at++) {
    const [code, jt, jf] = [program.readUInt16LE(at * 8), program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)]
    const k = program.readUInt32LE(at * 8 + 4)
    if (code === 0x20) accumulator = data.readUInt32LE(k)
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0
    else if (code === 0x15) at += accumulator === k ? jt : jf
    else if (code === 0x35) at += accumulator >= k ? jt : jf
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jt : jf
    else if (code === 0x06) return k
    else throw new Error(`an instruction no kernel takes here: ${code}`)
  }
  throw new Error('the program ran past its end')
}

describe.each(Object.keys(archs) as Arch[])('seccompFilter for %s', (name) => {
  const { audit: arch, column } = archs[name]
  const alone = seccompFilter(name, { hostFolders: false })
  const sharing = seccompFilter(name, { hostFolders: true })
  const checked = (call: keyof typeof checkedCalls, ...args: (number | bigint)[]) => ({ nr: checkedCalls[call][column], arch, args })

  it('is valid for a kernel: whole instructions, not too many, and no jump past the end', () => {
    for (const program of [alone, sharing]) {
      const count = program.length / 8
      expect(Number.isInteger(count) && count <= 4_096).toBe(true)
      for (let at = 0; at < count; at++) {
        if (program.readUInt16LE(at * 8) === 0x06) continue
        for (const offset of [2, 3]) expect(at + 1 + program.readUInt8(at * 8 + offset)).toBeLessThan(count)
      }
      expect(program.readUInt16LE(program.length - 8)).toBe(0x06)
    }
  })

  it('denies every call in its table whatever the arguments, and calls that create names if folders of the host are visible', () => {
    for (const [call, numbers] of Object.values(deniedCalls).flatMap((group) => Object.entries(group))) {
      const nr = numbers[column]
      if (nr === undefined) continue
      for (const program of [alone, sharing]) {
        expect([call, decide(program, { nr, arch })]).toEqual([call, eperm])
        expect(decide(program, { nr, arch, args: Array(6).fill(0xffff_ffff_ffff_ffffn) })).toBe(eperm)
      }
    }
    for (const nr of Object.values(namingCalls).flatMap((numbers) => numbers[column] ?? [])) {
      expect(decide(alone, { nr, arch })).toBe(allow)
      expect(decide(sharing, { nr, arch })).toBe(eperm)
    }
  })

  it('allows all other known calls, and reports newer ones as not implemented', () => {
    const known = new Set(
      [...Object.values(deniedCalls), namingCalls, checkedCalls].flatMap((group) => Object.values(group).map((numbers) => numbers[column])),
    )
    for (let nr = 0; nr <= 462; nr++) if (!known.has(nr)) expect([nr, decide(sharing, { nr, arch })]).toEqual([nr, allow])
    for (const nr of [463, 467, 500, 10_000, 0x3fff_ffff]) expect(decide(sharing, { nr, arch })).toBe(enosys)
  })

  it('ends a process that uses the numbers of another architecture', () => {
    for (const other of [0x4000_0003, 0x4000_0028, 0, ...Object.values(archs).flatMap(({ audit }) => (audit === arch ? [] : [audit]))])
      for (const nr of [0, 1, 39, 250]) expect(decide(alone, { nr, arch: other })).toBe(kill)
    // x32 is part of the same architecture: its numbers have a bit set.
    for (const nr of [0x4000_0000, 0x4000_00fa, 0x4000_0200, -1]) expect(decide(alone, { nr, arch })).toBe(name === 'x64' ? kill : enosys)
  })

  it('allows processes and threads, but no namespaces', () => {
    const [vfork, thread] = [0x4111, 0x3d_0f00]
    for (const flags of [17, vfork, thread]) expect(decide(alone, checked('clone', flags))).toBe(allow)
    for (const flag of [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]) {
      expect(decide(alone, checked('clone', flag | 17))).toBe(eperm)
      expect(decide(alone, checked('clone', BigInt(flag) | 0xffff_ffff_0000_0000n))).toBe(eperm)
    }
    expect(decide(alone, checked('clone3', 0x7fff_0000_0000n, 88))).toBe(enosys)
  })

  it('blocks input to terminals, whatever the upper half of the request', () => {
    for (const request of [0x5412, 0x541c, 0x5423]) {
      expect(decide(alone, checked('ioctl', 0, request))).toBe(eperm)
      expect(decide(alone, checked('ioctl', 0, BigInt(request) | 0x1_0000_0000n))).toBe(eperm)
    }
    for (const request of [0x5401, 0x5413]) expect(decide(alone, checked('ioctl', 0, request))).toBe(allow)
  })

  it('allows sockets for unix, TCP, UDP and routing; none that could reach others if folders of the host are visible', () => {
    const [unix, inet, inet6, netlink] = [1, 2, 10, 16]
    for (const program of [alone, sharing]) {
      for (const family of [inet, inet6])
        for (const protocol of [0, 6, 17]) expect(decide(program, checked('socket', family, 1, protocol))).toBe(allow)
      expect(decide(program, checked('socket', netlink, 3, 0))).toBe(allow)
      for (const protocol of [1, 58, 132, 136, 255, 262]) expect(decide(program, checked('socket', inet, 1, protocol))).toBe(eperm)
      for (const protocol of [6, 9, 12, 15]) expect(decide(program, checked('socket', netlink, 3, protocol))).toBe(eperm)
      for (let family = 0; family < 64; family++) {
        if ([unix, inet, inet6, netlink].includes(family)) continue
        for (const call of ['socket', 'socketpair'] as const) expect(decide(program, checked(call, family, 1, 0))).toBe(eperm)
        expect(decide(program, checked('socket', BigInt(family) | 0x1_0000_0000n, 1, 0))).toBe(eperm)
      }
    }
    expect(decide(alone, checked('socket', unix, 2, 0))).toBe(allow)
    expect(decide(sharing, checked('socket', unix, 1, 0))).toBe(eperm)
    const [stream, datagram, sequenced, flags] = [1, 2, 5, 0x8_0800]
    for (const type of [stream, sequenced]) expect(decide(sharing, checked('socketpair', unix, type | flags, 0))).toBe(allow)
    // It could be connected to a name later.
    expect(decide(sharing, checked('socketpair', unix, datagram | flags, 0))).toBe(eperm)
    expect(decide(alone, checked('socketpair', unix, datagram | flags, 0))).toBe(allow)
  })
})

it('does not exist for other architectures', () => {
  expect(['x64', 'arm64', 'ia32', 'riscv64', 'constructor'].map(isFiltered)).toEqual([true, true, false, false, false])
})
