import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SentenceSplitter } from '../../src/pipeline/sentence-splitter.ts'
import { anyCharacter } from '../any-text.ts'

function split(pieces: readonly string[], splitter = new SentenceSplitter()): string[] {
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()]
}

/**
 * A row is a text with its sentences. A sentence ends at `|`, which stands for nothing; at `¦`, a space; and at `
 * `, a line break.
 */
const table: Record<string, string[]> = {
  Chinese: [
    '你好。|今天天气很好！|你呢？|我很好',
    '他说：“你好。”|然后走了。',
    '“真的吗？”|她问道。',
    '圆周率是3.14，不是3。',
    '等等……然后他走了。|好吧……',
    '等等……¦然后呢？',
    '太好了！！！|我们走吧。',
    '真的？！|不会吧。',
    '价格是$3.5!|太贵了?|是的',
    '请访问https://example.com/a?b=1。|谢谢。',
    '我用Node.js和TypeScript 5.9写的。|很快。',
    '（是这样吗？）|是的。',
    '你好!|今天怎么样?|很好',
    '《三体。》|很好看。',
    '太好了！😀|我们走吧。',
    '好。😀👍🏽¦再见。',
    '第一。|第二。|第三',
    '参见Fig. 3。|然后继续。',
    '他叫Dr. 王。|他很好。',
    '这是OK.|然后呢。',
    '安装v1.2.3版本，再试。',
  ],
  Japanese: [
    '今日は。|明日は？|はい！',
    '「はい。」と言った。|次へ。',
    '「何？」って聞いた。|終わり。',
    '彼は「そうです。」|彼女は「いいえ。」',
    '『本当？』|はい。',
    'え？、そうなの。|うん。',
    'そう……かな。|うん。',
    '値段は３．１４円です。|安い。',
    'これは文です．|次の文です．',
    'はい！¦次へ。',
    '半角です｡|次です｡',
    'バージョン2.0です。|新しい。',
  ],
  Korean: ['안녕하세요.¦반갑습니다.¦네!', '3.14입니다.¦끝.'],
  English: [
    'Hello.¦How are you?¦Fine!',
    'Pi is 3.14.¦Next.',
    'Take fruit, e.g. apples.¦Or i.e. The Fruit.',
    'Mr. Smith met Dr. Who and Prof. J. R. R. Tolkien.¦They talked.',
    'Bring pens, paper, etc.¦Then wait.',
    'It was 5 p.m. when he left.¦He came at 9 a.m.¦The train left.',
    'The U.S. Senate met.¦He lives in the U.S.¦It is big.',
    'Wait... what?¦Well...¦Fine.',
    'Hmm… okay.¦Right…¦Next.',
    'He said "Stop!" and left.¦"Go!" she said.¦"Why?"¦He left.',
    'She asked, “Really?”¦“Yes.”¦Good.',
    'It works (really.)¦Next.',
    '(Is it?)¦Yes.',
    'See https://example.com/?q=1&x=2.¦Next.',
    'See www.example.com.¦Or example.com/path?x=1 instead.',
    'Open file.txt and src/index.ts.¦Then run it.',
    'Version 1.2.3 is out.¦Get v2.0!¦Now.',
    '1. Wash the apples.¦2. Dry them.¦10. Eat.',
    'Steps: 1. Wash.¦2. Dry.',
    'Really?!¦Yes!!!¦No...',
    'Great job! 🎉¦Let’s go.¦Bye! 👋🏽',
    'Great!🎉¦Next ❤️.¦End.',
    'Flags. 🇩🇪🇯🇵¦Next.',
    'See Fig. 3 and No. 5.¦No.¦That is it.',
    'The answer is 42.¦Next question.',
    'I am 3.¦My brother is 5.',
    'It is 21 °C.¦Clouds tonight.',
    'Take vitamin C.¦It helps.',
    'I met J. I. Smith.¦Then A. left.',
    'Great! ❤️¦Next.¦(❤️.)',
    'It is "Go!"she said.',
    'She met E\u0301. Smith.¦He left.',
    'It blows at 10 km/h.¦Rain later.¦R&D.¦Sales.',
    'They lost 7:1.¦Wait.',
    'Use C#.¦.NET is fine.¦C++?¦No.',
    'Yahoo!¦is a company.',
    'Wow!|That is it.',
    '**Note.**¦This is it.¦**Good!**¦Next.',
    'Line one⏎Line two⏎⏎Line three',
    'Ask me (the U.S. is big).¦Go.',
    'Born on Jan. 5 in St. Louis.¦He left.',
    'Smith et al.¦The rest.',
    'iPhone sales rose. iPad sales fell.',
    'The boys’.¦Cats don’t.¦Dogs do.',
    'Acme Inc. makes it.¦I like Acme Inc.¦They are good.',
    'He said: "I know."¦Then he left.',
    'Set a!=b and foo?.bar now.¦Done.',
    '![image](a.png)',
    '"I know!"¦… he said.¦Yes.',
    '... and then it ended.¦End.',
    'A.J. Foyt won.¦B. B. King sang.',
    'In 2023.¦15 people came.',
    'It ends.)',
    'Time: 10:30.¦Go at 7.30 then.',
    'Use `a.b()`.¦Then `c`.',
  ],
  German: [
    'Am 3. Mai kommt er.¦Danach nicht.',
    'Vom 1. bis 3. Mai 2024.¦Gut.',
    'Der 2. Weltkrieg begann am 1. September 1939.¦Er war lang.',
    'Im 19. Jahrhundert.¦Das ist alles.',
    'Sie wurde zum 1. Mal Zweite.¦Schön.',
    'Heute, z. B. Hunde.¦Auch z.B. Die Katze.',
    'd. h. Ja.¦I. d. R. Sonntags.',
    'Hr. Dr. Müller kam, bzw. Frau Meier.¦Sie ging.',
    'Er rief: „Halt!“¦Dann ging er.',
    '„Komm“, sagte er.¦„Ja.“¦»Nein.«¦Gut.',
    '„Warum?“ fragte sie.¦„Darum.“',
    'Hunde, Katzen usw. kamen.¦Sie blieben.',
    'Es kostet 3,50 €.¦Ca. 5 Leute.',
    'Die Antwort ist 42.¦Das ist alles.',
    'Siehe S. 5 und Abb. 3.¦Nr. 7 fehlt.',
    'Termin: 24. 12. 2024.¦Gut.',
    'Nun ... ich weiß nicht.¦Doch!',
    'Im Jahr 44 v. Chr. Geburt.¦Er starb.',
    'Friedrich II. war König.¦Er starb.',
    'Fertig.¦– Weiter.',
    'Um 7.30 Uhr.¦Los.',
    'Es sind 20 °C.¦Morgen regnet es.',
    'Am 5. Nov kommt er.¦Ok.',
    'Die 9. Symphonie.¦Schön!',
    '(Kapitel 3.)¦Mai ist schön.',
    'Dr. med. Meier und Dr. rer. nat. Huber.¦Beide.',
  ],
  French: [
    '« Bonjour ! » dit-il.¦« Ça va ? »¦Oui.',
    'M. Dupont et Mme La Fontaine.¦Ils mangent.',
    'Quoi ?!¦Non !',
    'J. L. Borges.¦Il écrit.',
  ],
  Spanish: ['¿Qué?¦¡Hola!¦Sí.', 'El Sr. El Greco.¦Hoy no.', '¡Hola!|¿Qué tal?'],
  mixed: [
    '我喜欢Python.¦很好用。|Use it!¦好吗？',
    'Hello.|你好。|World!',
    'OK。|Next one.¦Yes？|好',
    '価格は$3.50です。|Cheap!¦はい。',
    '他说 "Hello."¦然后走了。',
    'OK.|“1. Wash.”¦Next.',
    '好。!|next',
    '看https://a.b/c吧ok?|Then go.',
    'नमस्ते।¦ठीक है।',
    'مرحبا؟¦نعم.',
  ],
}
const cases = Object.entries(table).flatMap(([language, rows]) => rows.map((row) => [language, row] as const))
const textOf = (row: string): string => row.replaceAll('|', '').replaceAll('¦', ' ').replaceAll('⏎', '\n')
const sentencesOf = (row: string): string[] => row.split(/[|¦⏎]+/)

const seed = 20_260_101
/** What sentences are made of, and what makes their ends hard to find. */
const fragment = fc.constantFrom(
  ...['.', '..', '...', '…', '!', '?', '?!', '。', '！', '？', '\n', '\r\n', ' ', '  ', '\u3000', '\u00a0', ',', '、', ':', '-', '/', '//'],
  ...['"', "'", '’', '“', '”', '„', '«', '»', '‘', '(', ')', '「', '」', '*', '**', '_', '`', '[', ']', '#', '°', '%'],
  ...['e.g.', 'z. B.', 'i. d. R.', 'U.S.', 'Dr.', 'No.', 'p.m.', 'am', 'der', 'The', 'Die', 'I', 'Mai', 'Juni', 'B', 'c', 'word', 'Word'],
  ...[
    '1',
    '3.',
    '42',
    '3.14',
    '2024',
    'https://a.b/c?d=e',
    'www.a.b',
    'file.txt',
    'v1.2.3',
    '你好',
    'はい',
    'と',
    '네',
    'नमस्ते।',
    'é',
    'e\u0301',
  ],
  ...['😀', '👍🏽', '🇩🇪', '👩‍👩‍👧', '❤️', '1️⃣', '\ud83d', '\ude00', '\u200b'],
)
const text = fc
  .array(fc.oneof({ weight: 6, arbitrary: fragment }, { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 8 }) }), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''))
const cutAt = fc.array(fc.nat({ max: 300 }), { maxLength: 40 })

function cut(whole: string, at: readonly number[]): string[] {
  const places = [0, ...[...new Set(at)].filter((one) => one < whole.length).sort((a, b) => a - b), whole.length]
  return places.slice(1).map((place, index) => whole.slice(places[index], place))
}

describe('SentenceSplitter', () => {
  it.each(cases)('S4-15 %s: %s', (_, row) => {
    expect(split([textOf(row)])).toEqual(sentencesOf(row))
    expect(split([...textOf(row)])).toEqual(sentencesOf(row))
  })

  it('S4-15 gives the same sentences however the text is split, even inside a surrogate pair', () => {
    fc.assert(
      fc.property(text, cutAt, (whole, at) => {
        const expected = split([whole])
        expect(split(cut(whole, at))).toEqual(expected)
        expect(split(whole.split(''))).toEqual(expected)
      }),
      { seed, numRuns: 500 },
    )
  })

  it('S4-15 loses and invents nothing but white space around sentences, and no sentence is empty', () => {
    fc.assert(
      fc.property(text, cutAt, (whole, at) => {
        let rest = whole
        for (const sentence of split(cut(whole, at))) {
          rest = rest.trimStart()
          expect(sentence).toBe(sentence.trim())
          expect(sentence).not.toBe('')
          expect(rest.startsWith(sentence)).toBe(true)
          rest = rest.slice(sentence.length)
        }
        expect(rest.trim()).toBe('')
      }),
      { seed, numRuns: 500 },
    )
  })

  it('S4-15 always ends a sentence at `。`, a line break and the like', () => {
    fc.assert(
      fc.property(text, (whole) => {
        for (const sentence of split([whole])) {
          expect(sentence).not.toMatch(/\n/)
          // After a quote the sentence may continue: 「はい。」と言った. It may also do so before a comma, and before it has a word.
          expect(sentence).not.toMatch(/[\p{L}\p{N}][。！？][\p{Script=Han}\p{Lu}\p{Ll}\p{N}]/u)
        }
      }),
      { seed, numRuns: 500 },
    )
  })

  it('S4-15 returns a sentence as soon as what follows shows that it has ended', () => {
    const steps: [text: string, sentences: string[]][] = [
      ['你好。', []],
      ['今', ['你好。']],
      ['天。\n', ['今天。']],
      ['Hello', []],
      ['. ', []],
      ['It', ['Hello.']],
      [' is in the U.S. ', []],
      ['The', []],
      [' n', ['It is in the U.S.']],
      ['ext? ', []],
      ['👋', []],
      [' A', ['The next? 👋']],
    ]
    const splitter = new SentenceSplitter()
    expect(steps.map(([piece]) => [piece, splitter.push(piece)])).toEqual(steps)
    expect(splitter.end()).toEqual(['A'])
  })

  it('S4-15 returns the rest at the end, and starts again with the next text', () => {
    const splitter = new SentenceSplitter()
    expect(splitter.push('Dr')).toEqual([])
    expect(splitter.end()).toEqual(['Dr'])
    expect(split(['. Next „one. Yes“ „'], splitter)).toEqual(['. Next „one.', 'Yes“ „'])
    expect(split(['Go.“ No'], splitter)).toEqual(['Go.', '“ No'])
    expect(split(['In the U.S. The'], splitter)).toEqual(['In the U.S.', 'The'])
    expect(split(['\ud83d'], splitter)).toEqual(['\ud83d'])
    expect(splitter.end()).toEqual([])
    expect(split(['', ' \n ', ''], splitter)).toEqual([])
  })

  it('accepts further abbreviations, and lists of other languages', () => {
    const danish = { inside: ['bl.a.', 'ca.'], beforeNumbers: ['kl.'], starters: ['det'] }
    expect(split(['Det er bl.a. Hunde. Kl. 5. Det er sent.'], new SentenceSplitter({ languages: [danish] }))).toEqual([
      'Det er bl.a. Hunde.',
      'Kl. 5.',
      'Det er sent.',
    ])
    expect(split(['Siehe Abf. Eins. Zwei.'])).toEqual(['Siehe Abf.', 'Eins.', 'Zwei.'])
    const own = new SentenceSplitter({ abbreviations: ['Abf.'] })
    expect(split(['Siehe Abf. Eins. Zwei, z. B. Drei.'], own)).toEqual(['Siehe Abf. Eins.', 'Zwei, z. B. Drei.'])
    expect(split(['Siehe Abf. Eins.'], new SentenceSplitter(own))).toEqual(['Siehe Abf. Eins.'])
    expect(split(['Am 3. Mai. Dr. No.'], new SentenceSplitter({ languages: ['en'] }))).toEqual(['Am 3.', 'Mai.', 'Dr. No.'])
  })

  it.each(['da', 'toString', 5, null])('refuses the language %s', (language) => {
    expect(() => new SentenceSplitter({ languages: [language as never] })).toThrow(
      /Expected `languages` to be names out of en, de, fr, es, or word lists, got/,
    )
  })
})
