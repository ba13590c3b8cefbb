import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { attachFiles } from '../../src/cli/setup/attachments.ts'
import { tempFolder } from './temp-folder.ts'

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

describe('attachFiles', () => {
  it('puts texts after the prompt, and pictures beside it', async () => {
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

  it('keeps references to missing files as text', async () => {
    const { message, missing } = await attachFiles('Upgrade @types/node, mail bob@example.com', await tempFolder())
    expect(message).toEqual({ role: 'user', content: 'Upgrade @types/node, mail bob@example.com' })
    expect(missing).toEqual(['@types/node'])
  })

  it('ignores references in pasted text, unless the file exists and can be attached', async () => {
    const folder = await tempFolder({ 'a.ts': 'const a = 1\n', '.env': 'KEY=1' })
    const pasted = '@Component\nnpm i @types/node @.env ../@up @../outside\nmail @bob, see @a.ts'
    const { message, attached, missing } = await attachFiles(`${pasted}\nWhy?`, folder, { pasted: [pasted] })
    expect([attached, missing]).toEqual([['a.ts (12 B)'], []])
    expect(message).toEqual({ role: 'user', content: `${pasted}\nWhy?\n\n<file path="a.ts">\nconst a = 1\n\n</file>` })
    // A typed reference next to it still counts.
    expect((await attachFiles(`${pasted} @bob,`, folder, { pasted: [pasted] })).missing).toEqual(['@bob'])
    await expect(attachFiles(`${pasted} @.env`, folder, { pasted: [pasted] })).rejects.toThrow(/secrets/)
  })

  it('refuses files outside of the workspace, also through a link; secrets, folders, files that are too large or not text', async () => {
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
