//! An English form to its Spanish reading: the tool `lookup_spanish`.
//!
//! A form can be several things: "come" is an infinitive, two persons of the present and a participle. What the caller
//! leaves open is decided so:
//!
//! - tense: infinitive, then present simple, past simple, past participle, simple future. So "eat" is "comer", and
//!   "worked" is "trabajó" rather than "trabajado".
//! - person: the third where the form has one, else the first. So "ate" is "comió", and "eat" as a present is "como".
//! - a person without a tense asks for a form that has persons: "eat" with the 1st singular is "como", not "comer". The
//!   person is ignored where no reading has one ("eaten").

use papertape::{Cx, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{quoted, scope};
use super::table::{self, Reading};
use super::verbs::{Person, Tense};

/// Translate one English verb form into Spanish: "ate" is "comió". A form with several readings is read as an
/// infinitive before a present, as a past simple before a past participle, and in the third person where it can be;
/// give the tense or the person to pick another reading.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupSpanish {
    /// The English form, without its subject: "ate", "will eat", "is".
    english_form: String,
    /// The person to read the form in, for example 1sg: "ate" is then "comí".
    #[serde(default)]
    person: Option<Person>,
    /// The tense to read the form in, for example past participle: "worked" is then "trabajado".
    #[serde(default)]
    tense: Option<Tense>,
}

pub(super) async fn lookup_spanish(args: LookupSpanish, _: Cx) -> Result<&'static str, ToolError> {
    read(&args.english_form, args.tense, args.person).map_err(ToolError::failed)
}

fn read(form: &str, tense: Option<Tense>, person: Option<Person>) -> Result<&'static str, String> {
    let form = form.trim();
    let mut readings = table::readings(form);
    if readings.is_empty() {
        // "to eat" is how a dictionary writes the infinitive; the table has the bare form.
        let bare = form.split_once(char::is_whitespace).filter(|(to, _)| to.eq_ignore_ascii_case("to"));
        readings = bare.map(|(_, bare)| table::readings(bare)).unwrap_or_default();
        readings.retain(|reading| reading.tense == Tense::Infinitive);
    }
    if readings.is_empty() {
        return Err(format!(
            "{} is not a form this tutor knows: give one form such as \"ate\", \"eats\" or \"will eat\", without its \
             subject; {}",
            quoted(form),
            scope()
        ));
    }
    choose(&readings, tense, person).map(|reading| reading.spanish()).ok_or_else(|| {
        let wanted: Vec<_> = tense.map(Tense::name).into_iter().chain(person.map(Person::name)).collect();
        let known: Vec<_> = readings.iter().map(describe).collect();
        format!("{} cannot be {}: it can be {}", quoted(form), wanted.join(", "), known.join("; or "))
    })
}

/// The reading that was asked for, by the order in the head of this file.
fn choose(readings: &[Reading], tense: Option<Tense>, person: Option<Person>) -> Option<&Reading> {
    let has_persons = readings.iter().any(|reading| reading.person.is_some());
    let only_persons = person.is_some() && tense.is_none() && has_persons;
    let fits = |reading: &&Reading| {
        tense.is_none_or(|tense| reading.tense == tense)
            && match reading.person {
                Some(_) => person.is_none() || reading.person == person,
                None => !only_persons,
            }
    };
    let first = readings.iter().find(fits)?;
    let third = |reading: &&Reading| reading.tense == first.tense && reading.person == Some(Person::Third);
    readings.iter().filter(fits).find(third).or(Some(first))
}

/// "past simple, 3rd singular (comió)".
fn describe(reading: &Reading) -> String {
    let person = reading.person.map(|person| format!(", {}", person.name())).unwrap_or_default();
    format!("{}{person} ({})", reading.tense.name(), reading.spanish())
}

#[cfg(test)]
mod tests {
    use Person::{First, Second, Third};
    use Tense::{Infinitive, PastParticiple, PastSimple, PresentSimple, SimpleFuture};

    use super::*;

    /// Written by hand rather than taken from the table: a slip has to be made twice to go unnoticed. The columns are
    /// infinitive, present simple (3), past simple (3), past participle, simple future (3); "_" is a space.
    const RIGHT: &str = "
        work   trabajar trabajo trabajas trabaja trabajé trabajaste trabajó trabajado trabajaré trabajarás trabajará
        play   jugar juego juegas juega jugué jugaste jugó jugado jugaré jugarás jugará
        walk   caminar camino caminas camina caminé caminaste caminó caminado caminaré caminarás caminará
        talk   hablar hablo hablas habla hablé hablaste habló hablado hablaré hablarás hablará
        listen escuchar escucho escuchas escucha escuché escuchaste escuchó escuchado escucharé escucharás escuchará
        watch  mirar miro miras mira miré miraste miró mirado miraré mirarás mirará
        study  estudiar estudio estudias estudia estudié estudiaste estudió estudiado estudiaré estudiarás estudiará
        finish terminar termino terminas termina terminé terminaste terminó terminado terminaré terminarás terminará
        start  empezar empiezo empiezas empieza empecé empezaste empezó empezado empezaré empezarás empezará
        look   mirar miro miras mira miré miraste miró mirado miraré mirarás mirará
        want   querer quiero quieres quiere quise quisiste quiso querido querré querrás querrá
        like   gustar me_gusta te_gusta le_gusta me_gustó te_gustó le_gustó gustado me_gustará te_gustará le_gustará
        be     ser soy eres es fui fuiste fue sido seré serás será
        have   tener tengo tienes tiene tuve tuviste tuvo tenido tendré tendrás tendrá
        do     hacer hago haces hace hice hiciste hizo hecho haré harás hará
        go     ir voy vas va fui fuiste fue ido iré irás irá
        come   venir vengo vienes viene vine viniste vino venido vendré vendrás vendrá
        see    ver veo ves ve vi viste vio visto veré verás verá
        eat    comer como comes come comí comiste comió comido comeré comerás comerá
        write  escribir escribo escribes escribe escribí escribiste escribió escrito escribiré escribirás escribirá";

    #[test]
    fn every_form_has_its_reading() {
        let mut verbs = 0;
        for line in RIGHT.trim().lines() {
            let words: Vec<String> = line.split_whitespace().map(|word| word.replace('_', " ")).collect();
            let verb = table::verb(&words[0]).unwrap();
            let mut right = words[1..].iter();
            for tense in Tense::ALL {
                for &person in if tense.has_persons() { Person::ALL.as_slice() } else { &[Third] } {
                    let form = verb.english(tense, person);
                    let right = right.next().unwrap().as_str();
                    assert_eq!(
                        read(form, Some(tense), Some(person)),
                        Ok(right),
                        "{form}, {tense:?}, {person:?}"
                    );
                }
            }
            assert_eq!(right.next(), None);
            verbs += 1;
        }
        assert_eq!(verbs, 20);
    }

    #[test]
    fn what_is_left_open_is_decided_by_the_order() {
        let table = [
            ("ate", "comió"),
            ("eat", "comer"),
            ("eats", "come"),
            ("will eat", "comerá"),
            ("eaten", "comido"),
            ("come", "venir"),
            ("worked", "trabajó"),
            ("had", "tuvo"),
            ("am", "soy"),
            ("are", "eres"),
            ("was", "fue"),
            ("were", "fuiste"),
            ("be", "ser"),
            ("likes", "le gusta"),
            ("to eat", "comer"),
            ("To  Eat", "comer"),
            ("  ATE ", "comió"),
            ("Will  Write", "escribirá"),
        ];
        for (form, right) in table {
            assert_eq!(read(form, None, None), Ok(right), "{form}");
        }
    }

    #[test]
    fn tense_and_person_pick_another_reading() {
        let table = [
            ("ate", None, Some(First), "comí"),
            ("ate", None, Some(Second), "comiste"),
            ("ate", Some(PastSimple), None, "comió"),
            ("eat", None, Some(First), "como"),
            ("eat", None, Some(Second), "comes"),
            ("eat", Some(PresentSimple), None, "como"),
            ("eat", Some(Infinitive), Some(Third), "comer"),
            ("eaten", None, Some(First), "comido"),
            ("worked", Some(PastParticiple), None, "trabajado"),
            ("worked", Some(PastParticiple), Some(Second), "trabajado"),
            ("come", Some(PastParticiple), None, "venido"),
            ("come", None, Some(Second), "vienes"),
            ("will go", Some(SimpleFuture), Some(First), "iré"),
            ("was", None, Some(First), "fui"),
        ];
        for (form, tense, person, right) in table {
            assert_eq!(read(form, tense, person), Ok(right), "{form}, {tense:?}, {person:?}");
        }
    }

    #[test]
    fn an_impossible_reading_is_refused_with_those_that_exist() {
        assert_eq!(
            read("ate", Some(PresentSimple), None).unwrap_err(),
            "\"ate\" cannot be present simple: it can be past simple, 1st singular (comí); or past simple, 2nd singular \
             (comiste); or past simple, 3rd singular (comió)"
        );
        assert_eq!(
            read("eat", None, Some(Third)).unwrap_err(),
            "\"eat\" cannot be 3rd singular: it can be infinitive (comer); or present simple, 1st singular (como); or \
             present simple, 2nd singular (comes)"
        );
        assert!(
            read("is", Some(PresentSimple), Some(First))
                .unwrap_err()
                .contains("present simple, 1st singular")
        );
        assert!(
            read("to eat", Some(PresentSimple), None).unwrap_err().contains("it can be infinitive (comer)")
        );
    }

    #[test]
    fn an_unknown_form_is_rejected_with_the_remedy() {
        for form in ["ran", "she ate", "", "to ate", "to", "comió"] {
            let error = read(form, None, None).unwrap_err();
            assert!(error.starts_with(&format!("{form:?} is not a form this tutor knows")), "{error}");
            assert!(error.contains("without its subject; this tutor knows 20 verbs: work, "), "{error}");
        }
    }
}
