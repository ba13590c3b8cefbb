#!/usr/bin/env node
// The program is imported dynamically, because an older Node.js might fail to parse it before this check prints a helpful message.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`toolloop needs Node.js 22.18 or newer; this is ${process.versions.node}\n`)
  process.exitCode = 2
} else {
  import('./program.ts').then(({ runProgram }) => runProgram(process.argv.slice(2)))
}

export {}
