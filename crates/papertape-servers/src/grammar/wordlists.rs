//! Words to what they say about number: the lists behind the rules of `subject.rs`, all in lower case.

/// Whether a list has a word.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|entry| entry == word)
}

/// One, alone and before a noun, whatever follows: "each of the cats", "every boy and girl".
pub(super) const EACH: &str = "each every either neither everyone everybody everything";

/// One thing follows.
pub(super) const ONE: &str = "a an one 1 another this that much";

/// Many things follow. Numbers in digits are counted elsewhere.
pub(super) const MANY: &str = "
    these those many several both few two three four five six seven eight nine ten eleven twelve twenty thirty forty
    fifty sixty seventy eighty ninety dozens hundreds thousands millions";

/// "a hundred people" is many although it begins with "a".
pub(super) const AMOUNTS: &str = "few dozen hundred thousand million";

/// A title makes a person of a name in s: "Mr Jones".
pub(super) const TITLES: &str = "mr mrs ms miss dr sir lady lord professor uncle aunt";

/// These say nothing about number, one in a line; what stands after them does: "a lot of water", "a lot of people".
pub(super) const QUANTITIES: &str = "\
a lot of
lots of
plenty of
a number of
a couple of
the majority of
the rest of
most of
some of
any of
all of
half of";

/// The noun that counts stands before these: "the box of chocolates", "the cats that eat", "Ana as well as Luis".
pub(super) const AFTER_NOUN: &str = "
    of in on at with without from for to by near about under over behind between inside outside across against after
    before as along together including who whom whose which that where";

/// After a noun, these begin a clause about it: "the cats I saw".
pub(super) const CLAUSE_STARTS: &str = "i you he she we they";

/// Nouns in -ing that are not activities.
pub(super) const GERUND_LIKE: &str =
    "king ring spring string wing morning evening building meeting wedding ceiling";

/// The final s of these is not a plural. A final -ss, -us or -is does not either, without being listed.
pub(super) const SINGULAR_IN_S: &str = "
    news maths mathematics physics economics politics ethics linguistics phonetics genetics gymnastics athletics robotics
    electronics gas lens atlas canvas bias alias chaos cosmos christmas diabetes measles rabies mumps billiards rhinoceros
    thermos
    james charles agnes hans jules giles thomas tomas tomás lucas nicolas nicolás matias matías elias elías jonas andreas
    carlos marcos santos andres andrés ines inés mercedes dolores gladys
    texas kansas arkansas dallas honduras laos athens brussels wales netherlands philippines bahamas maldives";

/// Plurals that do not end in s.
pub(super) const PLURAL_WITHOUT_S: &str = "
    people children grandchildren men women policemen policewomen firemen gentlemen fishermen businessmen businesswomen
    feet teeth mice geese oxen police cattle bacteria criteria phenomena";

/// Plurals that end like "crisis" and "bus".
pub(super) const PLURAL_IN_IS_US: &str = "skis taxis kiwis bikinis menus gurus emus";

/// These can be one or many.
pub(super) const EITHER_NUMBER: &str = "
    sheep fish deer salmon series species means aircraft headquarters crossroads barracks data which there here none some
    any all most more half rest enough mine yours hers ours theirs lot lots plenty";

/// Pronouns that cannot be subjects.
pub(super) const OBJECTS: &str = "me him her us them";

/// Pronouns that can stand before a form.
pub(super) const SUBJECT_PRONOUNS: &str = "i you he she it he/she/it we they";
