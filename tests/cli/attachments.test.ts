import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { attachFiles } from '../../src/cli/setup/attachments.ts'
import { tempFolder } from './temp-folder.ts'

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

describe('files that a prompt names', () => {
  it('stand behind it, texts as text and pictures as pictures', async () => {
    const folder = await tempFolder({ 'src/a.ts': 'const a = 1\n', 'my notes.md': 'Notes.' })
    await writeFile(join(folder, 'dot.png'), png)
    const { message, attached, missing } = await attachFiles('Compare @src/a.ts, @"my notes.md" and @dot.png.', folder)
    expect(message).toEqual({
      role: 'user',
      content: [
        {
          type: 'text',
          text: 'Compare @src/a.ts, @"my notes.md" and @dot.png.\n\n<file path="src/a.ts">\nconst a = 1\n\n</file>\n\n<file path="my notes.md">\nNotes.\n</file>',
        },
        { type: 'image', data: png.toString('base64'), mediaType: 'image/png' },
      ],
    })
    expect([attached, missing]).toEqual([['src/a.ts (12 B)', 'my notes.md (6 B)', 'dot.png (70 B)'], []])
  })

  it('that are not there stay text', async () => {
    const { message, missing } = await attachFiles('Upgrade @types/node, mail bob@example.com', await tempFolder())
    expect(message).toEqual({ role: 'user', content: 'Upgrade @types/node, mail bob@example.com' })
    expect(missing).toEqual(['@types/node'])
  })

  it('are not looked for in what was pasted, unless they are there and can be attached', async () => {
    const folder = await tempFolder({ 'a.ts': 'const a = 1\n', '.env': 'KEY=1' })
    const pasted = '@Component\nnpm i @types/node @.env ../@up @../outside\nmail @bob, see @a.ts'
    const { message, attached, missing } = await attachFiles(`${pasted}\nWhy?`, folder, [pasted])
    expect([attached, missing]).toEqual([['a.ts (12 B)'], []])
    expect(message).toEqual({ role: 'user', content: `${pasted}\nWhy?\n\n<file path="a.ts">\nconst a = 1\n\n</file>` })
    // What is typed beside it is a reference all the same.
    expect((await attachFiles(`${pasted} @bob,`, folder, [pasted])).missing).toEqual(['@bob'])
    await expect(attachFiles(`${pasted} @.env`, folder, [pasted])).rejects.toThrow(/secrets/)
  })

  it('are refused outside of the workspace, also behind a link; where they hold secrets, are folders, too large or no text', async () => {
    const outer = await tempFolder({ 'secret.txt': 'secret' })
    const folder = join(outer, 'work')
    await mkdir(join(folder, 'src'), { recursive: true })
    await symlink(join(outer, 'secret.txt'), join(folder, 'link.txt'))
    await writeFile(join(folder, '.env'), 'KEY=1')
    await writeFile(join(folder, 'data.bin'), Buffer.from([1, 0, 2]))
    await writeFile(join(folder, 'latin1.txt'), Buffer.from([0x63, 0xe9]))
    await writeFile(join(folder, 'large.txt'), 'x'.repeat(262_145))
    await writeFile(join(folder, 'huge.png'), Buffer.concat([png, Buffer.alloc(5_242_880)]))
    for (const [name, why] of [
      ['../secret.txt', /outside/],
      ['/etc/passwd', /outside/],
      ['link.txt', /outside/],
      ['.env', /secrets/],
      ['src', /folder/],
      ['data.bin', /neither a text nor a picture/],
      ['latin1.txt', /not UTF-8 text/],
      ['large.txt', /256\.0 KiB/],
      ['huge.png', /more than 5\.0 MiB/],
    ] as const) {
      await expect(attachFiles(`Read @${name}`, folder), name).rejects.toThrow(why)
    }
  })
})
