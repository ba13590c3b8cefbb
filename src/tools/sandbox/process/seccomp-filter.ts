import { checkedCalls, deniedCalls, type FilteredArch, namingCalls, newestCall } from './denied-calls.ts'

export interface FilterOptions {
  /**
   * Whether folders of the host are visible. If so, the filter blocks creating and reaching sockets and pipes by name, because they may
   * lead out of the sandbox.
   */
  hostFolders: boolean
}

/** An instruction of classic BPF. See https://docs.kernel.org/networking/filter.html */
interface Instruction {
  code: number
  /** The constant of the instruction. */
  k: number
  /** The number of instructions to skip if a test is true (`jt`), and if it is false (`jf`). */
  jt?: number
  jf?: number
}

/**
 * The codes of the instructions: load a word of `struct seccomp_data`; AND with a constant; jump if equal, if greater or equal, or if any
 * bit is set; return.
 */
const code = { load: 0x20, and: 0x54, equal: 0x15, atLeast: 0x35, anyBit: 0x45, end: 0x06 }
/** Offsets in `struct seccomp_data`. */
const at = { number: 0, arch: 4, firstArgument: 16 }
/** See https://man7.org/linux/man-pages/man2/seccomp.2.html */
const [allow, kill, fail] = [0x7fff_0000, 0x8000_0000, 0x0005_0000]
const [eperm, enosys] = [1, 38]

/** The number of each architecture (AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64), and its column in the tables. */
const architectures = { x64: { audit: 0xc000_003e, column: 0 }, arm64: { audit: 0xc000_00b7, column: 1 } } as const
/** The bit that is set in the numbers of x32 calls, which are a second set of numbers on x86-64. */
const x32Bit = 0x4000_0000
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. CLONE_NEWTIME exists only for `unshare` and `clone3`. */
const newNamespaces = 0x7e02_0000
const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 }
const [stream, sequenced, typeMask] = [1, 5, 0xf]
const protocols = { route: 0, any: 0, tcp: 6, udp: 17 }
/** TIOCSTI and TIOCLINUX insert input into a terminal; TIOCSETD loads kernel modules. */
const terminalTricks = [0x5412, 0x541c, 0x5423]

const end = (k: number): Instruction => ({ code: code.end, k })
const [allowed, denied, missing] = [end(allow), end(fail | eperm), end(fail | enosys)]
const load = (k: number): Instruction => ({ code: code.load, k })
/**
 * Loads the low half of an argument. The kernel uses only the low half of the checked arguments. If the filter also compared the high half,
 * a forbidden call could pass by changing only that half.
 */
const argument = (index: number): Instruction => load(at.firstArgument + 8 * index)
const mask = (k: number): Instruction => ({ code: code.and, k })
/** Returns instructions that run `then` if the test is true for the loaded value. */
const when = (test: number, k: number, then: Instruction[]): Instruction[] => [{ code: test, k, jf: then.length }, ...then]
const unless = (test: number, k: number, then: Instruction[]): Instruction[] => [{ code: test, k, jt: then.length }, ...then]
const among = (values: readonly number[], then: Instruction[]): Instruction[] => values.flatMap((value) => when(code.equal, value, then))

/** Whether an architecture has a filter. The architecture is named as in `process.arch`. */
export function isFiltered(arch: string): arch is FilteredArch {
  return Object.hasOwn(architectures, arch)
}

/**
 * Creates the filter for a script's system calls, as a `seccomp` program for `bwrap --seccomp`. Denied calls fail with EPERM. Calls for
 * which libc has an alternative, and calls newer than this filter, fail with ENOSYS. Calls with the numbers of another architecture end the
 * process.
 */
export function seccompFilter(arch: FilteredArch, { hostFolders }: FilterOptions): Buffer {
  const { audit, column } = architectures[arch]
  const numbers = [...Object.values(deniedCalls), ...(hostFolders ? [namingCalls] : [])]
    .flatMap((group) => Object.values(group))
    .flatMap((call) => call[column] ?? [])
  const call = (name: keyof typeof checkedCalls, then: Instruction[]) => when(code.equal, checkedCalls[name][column], then)
  const program = [
    load(at.arch),
    ...unless(code.equal, audit, [end(kill)]),
    load(at.number),
    ...(arch === 'x64' ? when(code.atLeast, x32Bit, [end(kill)]) : []),
    ...when(code.atLeast, newestCall + 1, [missing]),
    ...among(numbers, [denied]),
    // The flags of `clone3` are passed by pointer, and filters can't read the memory behind a pointer. If `clone3` is missing, libc uses
    // `clone`.
    ...call('clone3', [missing]),
    ...call('clone', [argument(0), ...when(code.anyBit, newNamespaces, [denied]), allowed]),
    ...call('ioctl', [argument(1), ...among(terminalTricks, [denied]), allowed]),
    ...call('socket', socketRules(hostFolders)),
    ...call('socketpair', hostFolders ? connectedPairs : socketRules(hostFolders)),
    allowed,
  ]
  return assemble(program)
}

/** Returns rules that allow Unix sockets, TCP, UDP, and netlink for routing tables, which Node.js reads. */
function socketRules(hostFolders: boolean): Instruction[] {
  return [
    argument(0),
    ...(hostFolders ? [] : when(code.equal, family.unix, [allowed])),
    ...among([family.inet, family.inet6], [argument(2), ...among([protocols.any, protocols.tcp, protocols.udp], [allowed]), denied]),
    ...when(code.equal, family.netlink, [argument(2), ...when(code.equal, protocols.route, [allowed])]),
    denied,
  ]
}

/** Allows only sockets that stay connected to each other. A datagram socket could later be connected to a named socket. */
const connectedPairs = [
  argument(0),
  ...unless(code.equal, family.unix, [denied]),
  argument(1),
  mask(typeMask),
  ...among([stream, sequenced], [allowed]),
  denied,
]

/** Writes the instructions as `struct sock_filter`. Both architectures are little-endian. */
function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code: operation, jt = 0, jf = 0, k }] of program.entries()) {
    const offset = bytes.writeUInt16LE(operation, index * 8)
    bytes.writeUInt8(jf, bytes.writeUInt8(jt, offset))
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4)
  }
  return bytes
}
