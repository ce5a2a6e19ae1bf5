//! A model of eight numbers in process: held against transformers 5.22 with torch 2.15, and then broken in every way.

use std::fs;
use std::path::Path;

use papertape_search::embed::{EmbedError, Embedder, Local, Purpose};
use safetensors::Dtype;
use serde_json::json;

use super::folder::{Folder, HIDDEN, VOCABULARY, tokenizer, weights};

/// For a type of model and a pooling, the vectors of two texts.
const KNOWN: [(&str, &str, [[f32; 8]; 2]); 4] = [
    (
        "bert",
        "pooling_mode_mean_tokens",
        [
            [-0.176216, 0.480816, 0.679895, 0.099458, -0.398714, -0.265664, -0.056012, -0.181459],
            [-0.106272, 0.502311, 0.645794, 0.048417, -0.452964, -0.290731, -0.054057, -0.156118],
        ],
    ),
    (
        "bert",
        "pooling_mode_cls_token",
        [
            [-0.148249, 0.419286, 0.671698, 0.177348, -0.422095, -0.351486, -0.074966, -0.110744],
            [-0.101934, 0.480734, 0.646483, 0.073575, -0.462369, -0.317009, -0.057538, -0.132514],
        ],
    ),
    (
        "xlm-roberta",
        "pooling_mode_mean_tokens",
        [
            [-0.249206, 0.443063, 0.70782, 0.15826, -0.339125, -0.23944, -0.055868, -0.200194],
            [-0.202449, 0.461861, 0.692047, 0.137783, -0.372306, -0.265858, -0.061825, -0.186203],
        ],
    ),
    (
        "xlm-roberta",
        "pooling_mode_cls_token",
        [
            [-0.220275, 0.423334, 0.699986, 0.207093, -0.342862, -0.293098, -0.079327, -0.17218],
            [-0.195263, 0.454779, 0.690455, 0.151153, -0.375176, -0.280999, -0.067056, -0.176802],
        ],
    ),
];

#[tokio::test]
async fn vectors_are_those_of_transformers() {
    for (kind, pooling, vectors) in KNOWN {
        for (dtype, within) in [(Dtype::F32, 2e-6), (Dtype::F16, 2e-3), (Dtype::BF16, 2e-2)] {
            let folder = Folder::new(kind, dtype);
            let means = pooling == "pooling_mode_mean_tokens";
            let pooling = json!({"pooling_mode_mean_tokens": means, "pooling_mode_cls_token": !means});
            folder.write("1_Pooling/config.json", &pooling);
            for (text, wanted) in ["w4 w5 w6", "w9"].into_iter().zip(vectors) {
                let vector = folder.embed(text).await.unwrap().unwrap();
                let close = vector.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < within);
                assert!(
                    close && vector.len() == HIDDEN,
                    "{kind} {dtype:?} {text}: {vector:?} is not {wanted:?}"
                );
            }
        }
    }
}

/// MPNet, whose attention counts distances: near ones, and those of a text with 99 tokens.
#[tokio::test]
async fn vectors_of_mpnet_are_those_of_transformers() {
    let folder = Folder::new("mpnet", Dtype::F32);
    let long = format!("{}w9", "w4 w5 w6 ".repeat(32));
    for (pooling, text, wanted) in [
        (
            json!({"pooling_mode_mean_tokens": true}),
            "w4 w5 w6",
            [0.21535, 0.636163, 0.252364, -0.472973, -0.448532, -0.014454, 0.007187, -0.245133],
        ),
        (
            json!({"pooling_mode_mean_tokens": true}),
            &long,
            [0.237529, 0.628142, 0.243887, -0.473617, -0.463305, -0.038216, 0.000312, -0.22161],
        ),
        (
            json!({"pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true}),
            &long,
            [0.346883, 0.647797, 0.192948, -0.429698, -0.405931, -0.079921, -0.092461, -0.241757],
        ),
    ] {
        folder.write("1_Pooling/config.json", &pooling);
        let vector = folder.embed(text).await.unwrap().unwrap();
        let close = vector.iter().zip(wanted).all(|(got, wanted): (&f32, f32)| (got - wanted).abs() < 2e-6);
        assert!(close, "{pooling} {}: {vector:?} is not {wanted:?}", text.len());
    }
    folder.set("config.json", "relative_attention_num_buckets", json!(64));
    assert!(folder.refusal().await.contains("only 32"));
}

#[tokio::test]
async fn a_text_is_read_as_far_as_the_model_reads() {
    let folder = Folder::new("xlm-roberta", Dtype::F32);
    let long = |count: usize| format!("{}w9 w9", "w4 w5 ".repeat(count));
    // 16 positions, of which two are for the marks at the ends.
    assert_eq!(folder.embed(&long(7)).await.unwrap(), folder.embed(&long(5_000)).await.unwrap());
    folder.write("sentence_bert_config.json", &json!({"max_seq_length": 10}));
    assert_eq!(folder.embed(&long(4)).await.unwrap(), folder.embed("w4 w5 w4 w5 w4 w5 w4 w5").await.unwrap());
    folder.write("sentence_bert_config.json", &json!({"max_seq_length": 1_000_000}));
    folder.embed(&long(5_000)).await.unwrap().unwrap();
}

#[tokio::test]
async fn prompts_of_the_model_stand_before_texts() {
    let folder = Folder::new("bert", Dtype::F32);
    let plain = folder.embed("w4 w5 w6").await.unwrap();
    folder
        .write("config_sentence_transformers.json", &json!({"prompts": {"query": "w7 ", "passage": "w4 "}}));
    assert_eq!(folder.embed("w5 w6").await.unwrap(), plain);
    let model = Local::new(&folder.0);
    let query = model.embed(&["w5 w6".to_owned()], Purpose::Query).await.unwrap().pop().unwrap();
    assert_ne!(query, plain);
}

/// O-07.
#[tokio::test]
async fn another_weight_or_setting_is_another_model() {
    let folder = Folder::new("bert", Dtype::F32);
    let mut digests = vec![Local::new(&folder.0).identify().await.unwrap().digest];
    let path = folder.0.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    digests.push(Local::new(&folder.0).identify().await.unwrap().digest);
    folder.set("1_Pooling/config.json", "x", json!(1));
    digests.push(Local::new(&folder.0).identify().await.unwrap().digest);
    folder.set("tokenizer.json", "version", json!("1.0"));
    folder.write("config_sentence_transformers.json", &json!({"prompts": {"query": "w7 "}}));
    digests.push(Local::new(&folder.0).identify().await.unwrap().digest);
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[tokio::test]
async fn what_is_not_supported_is_named() {
    for (file, member, value, words) in [
        ("config.json", "model_type", json!("gpt2"), "supported are bert"),
        ("config.json", "hidden_act", json!("relu"), "only gelu"),
        ("config.json", "position_embedding_type", json!("relative_key"), "only absolute"),
        ("config.json", "num_attention_heads", json!(3), "3 heads"),
        ("config.json", "num_attention_heads", json!(0), "num_attention_heads is 0"),
        ("config.json", "num_hidden_layers", json!(1_000_000), "num_hidden_layers is 1000000"),
        ("config.json", "num_hidden_layers", json!(3), "no tensor roberta.encoder.layer.2."),
        ("config.json", "hidden_size", json!(16), "has the shape [20, 8], not [20, 16]"),
        ("config.json", "vocab_size", json!(-1), "config.json cannot be read"),
        ("config.json", "max_position_embeddings", json!(4), "read only 4 tokens"),
        ("1_Pooling/config.json", "pooling_mode_max_tokens", json!(true), "modes of pooling"),
        ("1_Pooling/config.json", "include_prompt", json!(false), "prompt"),
        ("tokenizer.json", "model", json!(7), "tokenizer.json cannot be used"),
    ] {
        let folder = Folder::new("bert", Dtype::F32);
        folder.set(file, member, value);
        let said = folder.refusal().await;
        assert!(said.contains(words), "{file} {member}: {said}");
    }
    let folder = Folder::new("bert", Dtype::F32);
    for (path, kind, words) in [
        ("../../etc", "sentence_transformers.models.Pooling", "not a directory beside it"),
        ("/etc", "sentence_transformers.models.Pooling", "not a directory beside it"),
        ("2_Dense", "sentence_transformers.models.Dense", "a module Dense"),
    ] {
        folder.write("modules.json", &json!([{"path": path, "type": kind}]));
        let said = folder.refusal().await;
        assert!(said.contains(words), "{kind}: {said}");
    }
}

#[tokio::test]
async fn missing_and_irregular_files_are_named() {
    for (name, words) in [
        ("config.json", "there is no config.json"),
        ("tokenizer.json", "there is no tokenizer.json"),
        ("model.safetensors", "there is no model.safetensors"),
    ] {
        let folder = Folder::new("bert", Dtype::F32);
        let path = folder.0.join(name);
        fs::remove_file(&path).unwrap();
        let said = folder.refusal().await;
        assert!(said.contains(words), "{said}");
        // To open it would wait for ever.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let said = folder.refusal().await;
        assert!(said.contains(&format!("{name} is not a file")), "{said}");
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(5 << 30).unwrap();
        let said = folder.refusal().await;
        assert!(said.contains(&format!("{name} has 5368709120 bytes")), "{said}");
    }
    let gone = Local::new(Path::new("no/such/folder")).identify().await.unwrap_err();
    assert!(matches!(&gone, EmbedError::Rejected(said) if said.contains("no such directory")), "{gone:?}");
}

#[tokio::test]
async fn weights_that_are_cut_or_invalid_are_rejected() {
    let folder = Folder::new("bert", Dtype::F32);
    let path = folder.0.join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    let head = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for end in [0, 1, 7, 8, 9, head - 1, head, head + 1, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..end]).unwrap();
        let said = folder.refusal().await;
        assert!(said.contains("model.safetensors"), "cut at {end}: {said}");
    }
    for first in [u64::MAX, 1 << 40, 2, 0, head as u64] {
        let bytes = [&first.to_le_bytes(), &whole[8..]].concat();
        fs::write(&path, bytes).unwrap();
        assert!(folder.refusal().await.contains("model.safetensors"), "{first}");
    }
    let overlapping = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
    let immense = br#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}"#;
    for list in [overlapping.as_slice(), immense, b"{}", b"[]", b"\xff"] {
        let bytes = [&(list.len() as u64).to_le_bytes(), list, [0; 12].as_slice()].concat();
        fs::write(&path, bytes).unwrap();
        assert!(folder.refusal().await.contains("model.safetensors"));
    }
    fs::write(&path, weights(16, Some(2), Dtype::F64)).unwrap();
    assert!(folder.refusal().await.contains("another kind of number"));
}

#[tokio::test]
async fn a_text_that_the_model_cannot_read_costs_itself_only() {
    let folder = Folder::new("bert", Dtype::F32);
    folder.write("tokenizer.json", &tokenizer(VOCABULARY + 5));
    let texts = ["w4", "w22", "", "w5"].map(str::to_owned);
    let vectors = Local::new(&folder.0).embed(&texts, Purpose::Document).await.unwrap();
    assert_eq!(vectors.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
    assert!(vectors[1].as_ref().unwrap_err().contains("no token 22"));
    // Every weight the largest there is: the result is not a number.
    let path = folder.0.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let head = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[head..].chunks_mut(4).for_each(|x| x.copy_from_slice(&f32::MAX.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    let spoilt = folder.embed("w4").await.unwrap().unwrap_err();
    assert!(spoilt.contains("none at all"), "{spoilt}");
}

#[tokio::test]
async fn many_callers_load_a_model_once_and_get_the_same() {
    let folder = Folder::new("bert", Dtype::F32);
    let model = std::sync::Arc::new(Local::new(&folder.0));
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let model = std::sync::Arc::clone(&model);
            tokio::spawn(async move { model.embed(&["w4 w5".to_owned()], Purpose::Query).await })
        })
        .collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap().unwrap());
    }
    results.dedup();
    assert_eq!(results.len(), 1);
}
