/** Words between spaces, as a set. */
export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
}

/**
 * The classes of words the rules are made of. A word that is in none of them, in no rule and no kind of files is either a name
 * (of a folder, of what is searched) or not understood.
 */
export const vocabulary: Record<string, ReadonlySet<string>> = {
  file: wordSet('file files everything'),
  folder: wordSet('folder folders directory directories dir dirs subfolder subfolders subdirectory subdirectories'),
  /** The whole workspace. */
  project: wordSet('project repo repository workspace codebase root'),
  line: wordSet('line lines loc'),
  byte: wordSet('byte bytes b kb kib mb mib gb gib kilobyte kilobytes megabyte megabytes gigabyte gigabytes kibibytes mebibytes'),
  det: wordSet('the a an this that these those my our your its their all every each any some whole entire same given such current both'),
  /** Behind these stands where. */
  place: wordSet('in under inside within below beneath underneath from of at across throughout through for on into around'),
  /** Behind these nothing but a place can stand. */
  strictPlace: wordSet('under inside within below beneath underneath throughout across'),
  also: wordSet('and or nor & plus , as well'),
  is: wordSet('is are was were be been being am'),
  does: wordSet('do does did'),
  has: wordSet('has have had having'),
  longest: wordSet('longest lengthiest'),
  largest: wordSet('largest biggest greatest heaviest bulkiest'),
  shortest: wordSet('shortest briefest'),
  smallest: wordSet('smallest tiniest lightest littlest'),
  newest: wordSet('newest latest youngest freshest'),
  oldest: wordSet('oldest earliest stalest'),
  superlative: wordSet(
    'longest lengthiest largest biggest greatest heaviest bulkiest shortest briefest smallest tiniest lightest littlest newest latest youngest freshest oldest earliest stalest',
  ),
  above: wordSet('more greater above over exceeding longer larger bigger heavier beyond'),
  below: wordSet('fewer less below under shorter smaller lighter'),
  comparative: wordSet('more fewer less longer shorter larger bigger smaller greater heavier lighter newer older'),
  which: wordSet('which what'),
  list: wordSet('list show display print name enumerate give find get see output view tell say identify locate'),
  reading: wordSet('read show print display open cat view output see quote type get give'),
  count: wordSet('count number amount quantity tally'),
  calculate: wordSet('calculate compute evaluate work solve determine'),
  mention: wordSet(
    'mention mentions mentioning mentioned contain contains containing contained include includes including reference references referencing use uses using import imports importing call calls calling match matches matching',
  ),
  occur: wordSet(
    'occur occurs occurred occurring appear appears appearing used mentioned show shows come comes referenced found present contained called imported written repeated',
  ),
  defined: wordSet('defined declared implemented'),
  time: wordSet('time date day weekday year month clock'),
  the: wordSet('the a an'),
  changed: wordSet('modified changed edited updated touched recently recent last latest modification'),
  it: wordSet('it that this'),
  them: wordSet('them those these they'),
}

/** Whether a word is in a class of `vocabulary`. */
export function isOneOf(name: string, word: string | undefined): boolean {
  return word !== undefined && vocabulary[name]?.has(word) === true
}

/** What a number of something can be a number of: lines and bytes. */
export function isUnit(word: string): boolean {
  return isOneOf('line', word) || isOneOf('byte', word)
}

/** Words that carry no meaning of their own here: left over, they need no mention. */
const empty = wordSet(`
  a an the this that these those there here it its is are was were be been being am do does did has have had having 's
  i you we me my our your us they them their theirs he she
  and or but nor & then also too so as well of in on at to for from by with within into per than both each every all any some such own
  which what who whose where when how much many more most
  please kindly thanks thank hello hi hey ok okay well now just simply only actually really quickly exactly precisely currently right
  can could would will shall should may might want wanted need like know tell give let say me show see let's
  find out get take look check make made sure answer question report result respond reply
  first next finally lastly afterwards after before once again further furthermore additionally next
  if whether one ones other others thing things same kind kinds type types sort exist exists existing present available
  file files folder folders directory directories dir dirs project repo repository workspace codebase contents content
  total overall altogether together combined
  currently overall entire whole given current using use do done go going come got
  not-any up down about there's it's i'd i'm be able possible possibly maybe perhaps basis
  name names named called path paths list listed lists located stored found contained lives live sits inside
  come comes belong belongs counted counting respectively between among amongst
  code written stands stand number amount value figure figures
  quick little bit short brief full complete correct actual different distinct separate separately individual individually
  sized long big large equal contain contains include includes hold holds match matches matching inside through into around across throughout within everything
  subfolder subfolders subdirectory subdirectories things thing questions answers facts identify determine pick choose choosing`)

/** True for words that can be left over without anything being missed. */
export function isEmptyWord(word: string): boolean {
  return empty.has(word)
}

/** Never the name of a folder behind `in` or `of`, though no rule is about them. */
const notNames = wordSet(`
  no not none never average mean avg order detail general particular course fact full parallel common advance addition turn case way example sure
  length size sizes lengths brief short time mind the question advance life love world internet web english german words word letters
  descending ascending reverse alphabetical decreasing increasing
  title status half quarter third percent percentage difference product ratio text texts content sum`)

const known = new Set([...empty, ...notNames, ...Object.values(vocabulary).flatMap((words) => [...words])])

/** False for a word the grammar has no use for: it may be a name. */
export function isGrammarWord(word: string): boolean {
  return known.has(word)
}

/** What the demo has no tool for, said as a command or asked. */
const undoable = wordSet(`
  write create delete remove rename move copy edit change modify fix refactor translate summarize summarise explain describe review improve
  install uninstall deploy commit push pull merge rebase build compile test lint format convert draw generate implement debug optimize optimise
  send email post upload buy book order play remember forget predict guess recommend suggest rewrite replace insert append erase clear wipe
  imagine invent compose tidy clean kill stop start restart update upgrade download save store touch mkdir rm mv cp git npm
  why who whom whose`)

/** A first word that asks for what no rule here can do. */
export function asksTooMuch(word: string): boolean {
  return undoable.has(word)
}
