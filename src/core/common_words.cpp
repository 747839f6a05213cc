// The small words of each language, folded and sorted by their bytes.
#include "core/common_words.h"

namespace palimpsest {
namespace {

constexpr std::string_view english[] = {
    "a",      "about",   "after",     "again",    "all",       "also",    "am",         "an",
    "and",    "any",     "are",       "aren",     "as",        "at",      "be",         "because",
    "been",   "before",  "being",     "between",  "both",      "but",     "by",         "can",
    "cannot", "could",   "couldn",    "d",        "did",       "didn",    "do",         "does",
    "doesn",  "doing",   "don",       "down",     "during",    "each",    "few",        "for",
    "from",   "further", "had",       "hadn",     "has",       "hasn",    "have",       "haven",
    "having", "he",      "her",       "here",     "hers",      "herself", "him",        "himself",
    "his",    "how",     "i",         "if",       "in",        "into",    "is",         "isn",
    "it",     "its",     "itself",    "just",     "ll",        "m",       "me",         "might",
    "more",   "most",    "must",      "my",       "myself",    "no",      "nor",        "not",
    "now",    "of",      "off",       "on",       "once",      "only",    "or",         "other",
    "our",    "ours",    "ourselves", "out",      "over",      "own",     "re",         "s",
    "same",   "she",     "should",    "shouldn",  "so",        "some",    "such",       "t",
    "than",   "that",    "the",       "their",    "theirs",    "them",    "themselves", "then",
    "there",  "these",   "they",      "this",     "those",     "through", "to",         "too",
    "under",  "until",   "up",        "ve",       "very",      "was",     "wasn",       "we",
    "were",   "weren",   "what",      "when",     "where",     "which",   "while",      "who",
    "whom",   "whose",   "why",       "will",     "with",      "won",     "would",      "wouldn",
    "you",    "your",    "yours",     "yourself", "yourselves"};

constexpr std::string_view german[] = {
    "aber",   "alle",  "als",  "also",  "am",    "an",     "auch",  "auf",   "aus",  "bei",
    "bin",    "bis",   "bist", "da",    "damit", "dann",   "das",   "dass",  "dein", "deine",
    "dem",    "den",   "denn", "der",   "des",   "dich",   "die",   "dir",   "doch", "du",
    "durch",  "ein",   "eine", "einem", "einen", "einer",  "eines", "er",    "es",   "euch",
    "für",    "hab",   "habe", "haben", "hat",   "hatte",  "hier",  "ich",   "ihm",  "ihn",
    "ihr",    "ihre",  "im",   "in",    "ist",   "ja",     "jetzt", "kann",  "kein", "keine",
    "können", "man",   "mein", "meine", "mich",  "mir",    "mit",   "muss",  "nach", "nicht",
    "noch",   "nur",   "oder", "ohne",  "schon", "sehr",   "sein",  "seine", "sich", "sie",
    "sind",   "so",    "soll", "um",    "und",   "uns",    "unter", "vom",   "von",  "vor",
    "war",    "waren", "was",  "wenn",  "wer",   "werden", "wie",   "wir",   "wird", "wo",
    "wurde",  "zu",    "zum",  "zur",   "über"};

constexpr std::string_view french[] = {
    "ai",    "au",   "aux",  "avec",   "avez",  "bien", "c",    "ce",    "ces",   "cette", "comme",
    "d",     "dans", "de",   "des",    "donc",  "du",   "elle", "elles", "en",    "est",   "et",
    "eu",    "fait", "il",   "ils",    "j",     "je",   "l",    "la",    "le",    "les",   "leur",
    "lui",   "m",    "ma",   "mais",   "me",    "mes",  "moi",  "mon",   "n",     "ne",    "nos",
    "notre", "nous", "on",   "ont",    "ou",    "où",   "par",  "pas",   "plus",  "pour",  "qu",
    "quand", "que",  "quel", "quelle", "qui",   "s",    "sa",   "sans",  "se",    "ses",   "si",
    "son",   "sont", "sur",  "t",      "ta",    "te",   "tes",  "toi",   "ton",   "tout",  "très",
    "tu",    "un",   "une",  "vos",    "votre", "vous", "y",    "à",     "était", "été",   "être"};

constexpr std::string_view spanish[] = {
    "a",     "al",  "algo", "como",    "con",  "cuando", "de",    "del",    "desde",
    "donde", "dos", "e",    "el",      "ella", "ellos",  "en",    "entre",  "era",
    "es",    "esa", "ese",  "eso",     "esta", "este",   "esto",  "estoy",  "está",
    "fue",   "ha",  "hay",  "he",      "la",   "las",    "le",    "les",    "lo",
    "los",   "me",  "mi",   "mis",     "muy",  "más",    "nada",  "ni",     "no",
    "nos",   "o",   "otra", "otro",    "para", "pero",   "por",   "porque", "que",
    "quien", "qué", "se",   "ser",     "si",   "sin",    "sobre", "son",    "soy",
    "su",    "sus", "sí",   "también", "te",   "tengo",  "ti",    "tiene",  "todo",
    "tu",    "tus", "un",   "una",     "uno",  "unos",   "y",     "ya",     "yo"};

constexpr std::string_view portuguese[] = {
    "a",    "ao",   "aos",    "as",   "até",    "com",  "como",  "da",    "das",   "de",
    "dela", "dele", "do",     "dos",  "e",      "ela",  "ele",   "eles",  "em",    "entre",
    "era",  "essa", "esse",   "esta", "estou",  "está", "eu",    "foi",   "há",    "isso",
    "isto", "já",   "lhe",    "mais", "mas",    "me",   "mesmo", "meu",   "minha", "muito",
    "na",   "nas",  "no",     "nos",  "não",    "o",    "os",    "ou",    "para",  "pela",
    "pelo", "por",  "porque", "qual", "quando", "que",  "quem",  "se",    "sem",   "ser",
    "seu",  "sua",  "são",    "só",   "também", "te",   "tem",   "tenho", "um",    "uma",
    "você", "à",    "é"};

constexpr std::string_view italian[] = {
    "a",      "al",   "alla",   "anche",  "che",    "chi",    "ci",  "come",  "con",
    "cosa",   "cui",  "da",     "dal",    "dalla",  "dei",    "del", "della", "delle",
    "di",     "dove", "e",      "ed",     "era",    "essere", "fa",  "gli",   "ha",
    "hai",    "ho",   "i",      "il",     "in",     "io",     "la",  "le",    "lei",
    "li",     "lo",   "loro",   "lui",    "ma",     "mi",     "mia", "mio",   "molto",
    "ne",     "nei",  "nel",    "nella",  "no",     "noi",    "non", "o",     "per",
    "perché", "più",  "quando", "quello", "questa", "questo", "se",  "sei",   "si",
    "sia",    "sono", "sta",    "su",     "sua",    "sul",    "suo", "te",    "ti",
    "tra",    "tu",   "tutto",  "un",     "una",    "uno",    "vi",  "voi",   "è"};

constexpr std::string_view dutch[] = {
    "aan",    "al",    "als",   "bij",    "daar", "dan", "dat",    "de",   "deze", "die", "dit",
    "doch",   "doen",  "door",  "een",    "en",   "er",  "ge",     "geen", "haar", "had", "heb",
    "hebben", "heeft", "hem",   "het",    "hier", "hij", "hoe",    "hun",  "ik",   "in",  "is",
    "ja",     "je",    "kan",   "kunnen", "maar", "me",  "meer",   "men",  "met",  "mij", "mijn",
    "moet",   "na",    "naar",  "niet",   "nog",  "nu",  "of",     "om",   "ons",  "ook", "op",
    "over",   "te",    "tegen", "toch",   "toen", "tot", "u",      "uit",  "uw",   "van", "veel",
    "voor",   "want",  "waren", "was",    "wat",  "we",  "wel",    "werd", "wie",  "wij", "wordt",
    "zal",    "ze",    "zich",  "zij",    "zijn", "zo",  "zonder", "zou"};

constexpr std::string_view swedish[] = {
    "alla", "att",    "av",    "bara", "de",    "dem",  "den",    "denna", "det", "detta",
    "dig",  "din",    "du",    "där",  "efter", "ej",   "eller",  "en",    "er",  "ett",
    "från", "för",    "ha",    "hade", "han",   "hans", "har",    "hon",   "hur", "här",
    "i",    "inte",   "jag",   "kan",  "kunde", "man",  "med",    "men",   "mig", "min",
    "mot",  "mycket", "måste", "ni",   "nu",    "när",  "och",    "om",    "oss", "på",
    "sig",  "sin",    "ska",   "som",  "så",    "till", "under",  "upp",   "ut",  "utan",
    "vad",  "var",    "vara",  "vem",  "vi",    "vid",  "vilken", "vill",  "är",  "över"};

constexpr std::string_view danish[] = {
    "af",    "alle", "at",    "blev", "bliver", "da",    "de",   "dem",   "den",   "der",
    "deres", "det",  "dette", "dig",  "din",    "dog",   "du",   "efter", "eller", "en",
    "end",   "er",   "et",    "for",  "fra",    "ham",   "han",  "hans",  "har",   "havde",
    "hende", "her",  "hos",   "hun",  "hvad",   "hvis",  "hvor", "i",     "ikke",  "ind",
    "jeg",   "jer",  "kan",   "man",  "med",    "meget", "men",  "mig",   "min",   "mod",
    "når",   "og",   "også",  "om",   "op",     "os",    "over", "på",    "sig",   "sin",
    "skal",  "som",  "så",    "til",  "ud",     "under", "var",  "vi",    "vil",   "være"};

constexpr std::string_view norwegian[] = {
    "alle",  "at",   "av",   "bare",  "ble",     "bli",  "da",    "de",    "deg", "dem",
    "den",   "der",  "det",  "dette", "din",     "du",   "eller", "en",    "er",  "et",
    "etter", "for",  "fra",  "ha",    "hadde",   "han",  "har",   "henne", "her", "hun",
    "hva",   "hvem", "hvis", "hvor",  "hvordan", "i",    "ikke",  "inn",   "jeg", "kan",
    "man",   "med",  "meg",  "meget", "men",     "min",  "mot",   "noe",   "nå",  "når",
    "og",    "også", "om",   "opp",   "oss",     "over", "på",    "seg",   "sin", "skal",
    "som",   "så",   "til",  "ut",    "var",     "ved",  "vi",    "vil",   "være"};

constexpr std::string_view finnish[] = {
    "ehkä",   "ei",     "en",     "että", "he",  "hän",  "ja",    "jo",      "joka",   "jos",
    "jossa",  "kanssa", "kuin",   "kun",  "me",  "mikä", "minua", "minulla", "minun",  "minä",
    "mitä",   "mukaan", "mutta",  "myös", "ne",  "niin", "nyt",   "olen",    "olet",   "oli",
    "olivat", "olla",   "on",     "ovat", "sai", "se",   "sekä",  "sen",     "siellä", "siitä",
    "sinun",  "sinä",   "sitten", "tai",  "te",  "tämä", "tässä", "vain",    "voi",    "voin"};

constexpr std::string_view russian[] = {
    "а",    "без", "бы",    "был",  "была",  "были",  "было",    "быть",    "в",    "вам", "вас",
    "весь", "во",  "вот",   "все",  "всего", "вы",    "где",     "да",      "даже", "для", "до",
    "его",  "ее",  "если",  "есть", "еще",   "же",    "за",      "здесь",   "и",    "из",  "или",
    "им",   "их",  "к",     "как",  "какой", "когда", "которые", "который", "кто",  "ли",  "меня",
    "мне",  "мой", "мы",    "на",   "нас",   "не",    "него",    "нет",     "ни",   "но",  "ну",
    "о",    "об",  "он",    "она",  "они",   "от",    "по",      "под",     "при",  "с",   "сейчас",
    "со",   "так", "такой", "там",  "то",    "тоже",  "только",  "у",       "уже",  "что", "чтобы",
    "эта",  "это", "этот",  "я"};

constexpr std::string_view turkish[] = {
    "ama",  "bana",   "ben",  "beni",   "bir",   "biz",  "bu",  "bunu", "da",    "daha",
    "de",   "değil",  "diye", "en",     "gibi",  "göre", "hem", "her",  "ile",   "ise",
    "için", "kadar",  "ki",   "kim",    "mi",    "mu",   "mı",  "ne",   "neden", "o",
    "olan", "olarak", "oldu", "olduğu", "on",    "onu",  "sen", "siz",  "tüm",   "var",
    "ve",   "veya",   "ya",   "yok",    "zaman", "çok",  "şey", "şu"};

constexpr std::string_view hungarian[] = {
    "a",      "az",    "azt",  "be",     "csak",  "de",   "egy", "el",   "ez",
    "ezt",    "fel",   "ha",   "hanem",  "hogy",  "is",   "itt", "kell", "ki",
    "le",     "lehet", "meg",  "mert",   "mi",    "mint", "mit", "most", "már",
    "nagyon", "ne",    "nem",  "nincs",  "olyan", "rá",   "sem", "sok",  "szerint",
    "te",     "több",  "vagy", "vagyok", "van",   "volt", "új",  "ő",    "ők"};

constexpr std::string_view romanian[] = {
    "a",    "această", "acest", "aceste", "al",   "ale", "am",   "ar",  "are",  "au",   "ca",
    "care", "ce",      "cu",    "cum",    "dar",  "de",  "deci", "din", "după", "ea",   "ei",
    "el",   "este",    "eu",    "fi",     "fost", "la",  "le",   "lui", "mai",  "mea",  "mi",
    "nu",   "o",       "pe",    "pentru", "prin", "s",   "sau",  "se",  "si",   "sunt", "să",
    "te",   "tu",      "un",    "una",    "unde", "în",  "și",   "ți"};

constexpr std::span<const std::string_view> tables[language_count] = {
    english, german,    french,  spanish, portuguese, italian,   dutch,   swedish,
    danish,  norwegian, finnish, russian, turkish,    hungarian, romanian};

}  // namespace

std::span<const std::string_view> common_words(Language language) {
    return tables[static_cast<std::size_t>(language)];
}

}  // namespace palimpsest
