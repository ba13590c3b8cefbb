/**
 * Words of one language that help to distinguish the full stop of an abbreviation or an ordinal from the end of a sentence. Case is
 * ignored. Words are written without their last full stop: `z.b` matches both `z.B.` and `z. B.`.
 */
export interface SentenceLanguage {
  /** Abbreviations that never end a sentence: `e.g`, `bzw`. */
  inside?: readonly string[]
  /** Abbreviations that end a sentence only if one of `starters` follows. Single letters and `U.S.` always belong to this group. */
  either?: readonly string[]
  /** Abbreviations that don't end a sentence if a number follows: `Fig. 3`. */
  beforeNumbers?: readonly string[]
  /** Words that often start a sentence and are rarely names. */
  starters?: readonly string[]
  /** Names of months. Before a month, `3.` is part of a date. */
  months?: readonly string[]
  /** Words after which `3.` is an ordinal. Its full stop ends the sentence only if one of `starters` follows. */
  beforeOrdinals?: readonly string[]
}

const words = (text: string): string[] => text.trim().split(/\s+/)

const english: SentenceLanguage = {
  inside: words('mr mrs ms mx dr prof messrs e.g i.e cf vs viz approx incl excl resp a.k.a'),
  either: words(
    'rev hon gen col maj capt cmdr lt sgt gov sen rep pres st mt ft jr sr esq ph.d m.sc b.sc inc ltd corp co llc bros dept univ assn ave ' +
      'blvd rd hwy est avg min max al',
  ),
  beforeNumbers: words('no nos fig figs vol ch chap sec pp pt art ver eq op tel ext jan feb mar apr jun jul aug sep sept oct nov dec'),
  starters: words(
    'the a an it its this that these those there here he she they we i you his her their our my your what when where why how which if ' +
      'while after before since as at in on for from with without by to of but and or so yet then now next thus hence also however ' +
      'therefore instead meanwhile finally first second still once some many most all both each every not yes please let do does did ' +
      'is are was were can could will would should may might has have had today tomorrow yesterday tonight',
  ),
}

const german: SentenceLanguage = {
  inside: words(
    'z.b d.h u.a u.ä o.ä i.d.r u.u m.e i.a s.o s.u z.t z.zt bzw ca vgl evtl ggf sog inkl exkl zzgl abzgl bspw insb insbes ' +
      'allg ehem eigtl gegr geb verh versch bez bzgl vorm nachm entspr einschl hr fr frl ' +
      'dipl ing dr.med dr.phil dr.jur dr.rer dr.rer.nat',
  ),
  either: words('mag st str v.chr n.chr jh jhd mio mrd tsd std min max sek abt gem lt e.v'),
  beforeNumbers: words('nr abb kap bd tel abs art ziff anm tab aufl'),
  starters: words(
    'der die das den dem des ein eine einen einem einer er sie es ich du wir ihr man dies diese dieser dieses mein dein sein unser euer und ' +
      'aber oder denn doch sondern dann danach davor dabei dazu daher deshalb deswegen trotzdem jedoch heute morgen gestern jetzt nun hier ' +
      'da dort in im an am auf aus bei beim mit nach seit von vom vor zu zum zur für um über unter wenn weil als wie was wer wo wann warum ' +
      'so auch nur noch schon bitte ja nein nicht kein keine alle viele einige manche ist sind war waren hat haben kann können soll wird ' +
      'werden zuerst zuletzt außerdem leider vielleicht',
  ),
  months: words(
    'januar jänner februar feber märz april mai juni juli august september oktober november dezember jan feb mär apr jun jul aug sep sept ' +
      'okt nov dez',
  ),
  beforeOrdinals: words(
    'der die das dem den des am im vom zum zur beim ans ins ein eine einen einem einer jeder jede jedes jeden jedem dieser diese dieses ' +
      'diesen diesem sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer mein meine meinen meinem meiner',
  ),
}

const french: SentenceLanguage = {
  inside: words('mm mme mmes mlle p.ex env'),
  either: words('pr me st ste bd av'),
  beforeNumbers: words('n fig chap vol art tél'),
  starters: words(
    'le la les un une des il elle ils elles on nous vous je tu ce cette ces cela ça c j mais et ou donc or ni car puis ensuite alors ' +
      'aujourd demain hier si quand comme pour dans sur avec sans en au aux à oui non',
  ),
}

const spanish: SentenceLanguage = {
  inside: words('sr sra srta sres dra p.ej aprox ee'),
  either: words('ud uds dña avda ee.uu uu'),
  beforeNumbers: words('núm nº fig cap vol art tel pág págs'),
  starters: words(
    'el la los las un una unos unas él ella ellos ellas yo tú nosotros usted ustedes esto esta este eso pero y o entonces luego después hoy ' +
      'mañana ayer si cuando como para en con sin por a al sí',
  ),
}

/** The bundled languages. */
export const sentenceLanguages: Readonly<Record<'en' | 'de' | 'fr' | 'es', SentenceLanguage>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
}

/** The words of all languages, as sets. */
export type WordLists = Readonly<Record<keyof SentenceLanguage, ReadonlySet<string>>>

export function mergeLanguages(languages: readonly SentenceLanguage[]): WordLists {
  const merge = (field: keyof SentenceLanguage): ReadonlySet<string> =>
    new Set(languages.flatMap((language) => (language[field] ?? []).map((word) => word.toLowerCase().replace(/\.$/, ''))))
  return {
    inside: merge('inside'),
    either: merge('either'),
    beforeNumbers: merge('beforeNumbers'),
    starters: merge('starters'),
    months: merge('months'),
    beforeOrdinals: merge('beforeOrdinals'),
  }
}
