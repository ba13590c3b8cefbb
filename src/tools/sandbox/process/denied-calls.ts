/** An architecture that has a system call filter, named as in `process.arch`. */
export type FilteredArch = 'x64' | 'arm64'

/**
 * The numbers of a system call on x86-64 and on arm64. Some calls don't exist on arm64. Sources: Linux,
 * arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. From 424 on, the numbers are the same on all architectures.
 */
type Numbers = readonly [x64: number, arm64?: number]

/**
 * Calls that no script needs, or that give access to secrets of the kernel, to other processes, or to memory that the limits don't count.
 */
export const deniedCalls: Readonly<Record<string, Readonly<Record<string, Numbers>>>> = {
  'keys of the host, which no namespace separates': { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  'other processes': {
    ptrace: [101, 117],
    process_vm_readv: [310, 270],
    process_vm_writev: [311, 271],
    process_madvise: [440, 440],
    kcmp: [312, 272],
    pidfd_getfd: [438, 438],
    perf_event_open: [298, 241],
  },
  'parts of the kernel that are often at fault': {
    bpf: [321, 280],
    userfaultfd: [323, 282],
    io_uring_setup: [425, 425],
    io_uring_enter: [426, 426],
    io_uring_register: [427, 427],
    personality: [135, 92],
    modify_ldt: [154],
    lookup_dcookie: [212, 18],
    nfsservctl: [180, 42],
    _sysctl: [156],
    uselib: [134],
    ustat: [136],
    sysfs: [139],
  },
  namespaces: { unshare: [272, 97], setns: [308, 268] },
  mounts: {
    mount: [165, 40],
    umount2: [166, 39],
    pivot_root: [155, 41],
    chroot: [161, 51],
    open_tree: [428, 428],
    move_mount: [429, 429],
    fsopen: [430, 430],
    fsconfig: [431, 431],
    fsmount: [432, 432],
    fspick: [433, 433],
    mount_setattr: [442, 442],
    statmount: [457, 457],
    listmount: [458, 458],
    name_to_handle_at: [303, 264],
    open_by_handle_at: [304, 265],
    fanotify_init: [300, 262],
    fanotify_mark: [301, 263],
    quotactl: [179, 60],
    quotactl_fd: [443, 443],
    swapon: [167, 224],
    swapoff: [168, 225],
    acct: [163, 89],
  },
  'memory that counts for no process': {
    memfd_create: [319, 279],
    memfd_secret: [447, 447],
    shmget: [29, 194],
    shmat: [30, 196],
    shmctl: [31, 195],
    shmdt: [67, 197],
    msgget: [68, 186],
    msgsnd: [69, 189],
    msgrcv: [70, 188],
    msgctl: [71, 187],
    semget: [64, 190],
    semop: [65, 193],
    semctl: [66, 191],
    semtimedop: [220, 192],
    mq_open: [240, 180],
    mq_unlink: [241, 181],
    mq_timedsend: [242, 182],
    mq_timedreceive: [243, 183],
    mq_notify: [244, 184],
    mq_getsetattr: [245, 185],
  },
  'the whole machine': {
    syslog: [103, 116],
    vhangup: [153, 58],
    reboot: [169, 142],
    kexec_load: [246, 104],
    kexec_file_load: [320, 294],
    init_module: [175, 105],
    finit_module: [313, 273],
    delete_module: [176, 106],
    iopl: [172],
    ioperm: [173],
    settimeofday: [164, 170],
    clock_settime: [227, 112],
    clock_adjtime: [305, 266],
    adjtimex: [159, 171],
    sethostname: [170, 161],
    setdomainname: [171, 162],
  },
}

/** Calls that create sockets and pipes with a name in a folder. Processes outside the sandbox could connect to them. */
export const namingCalls: Readonly<Record<string, Numbers>> = { mknod: [133], mknodat: [259, 33] }

/** Calls that are allowed only with certain arguments. */
export const checkedCalls: Readonly<Record<'clone' | 'clone3' | 'socket' | 'socketpair' | 'ioctl', Required<Numbers>>> = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
}

/** The number of `mseal`, which was added in Linux 6.10. Newer calls have not been reviewed, so they fail as not implemented. */
export const newestCall = 462
