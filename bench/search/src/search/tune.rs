//! scratch
use std::collections::HashMap;
use std::path::Path;
use papertape_servers::blog::document;
use papertape_servers::blog::folder::Folder;
use papertape_servers::blog::store::ChunkId;
use papertape_servers::blog::words::{self, weights, Language};
use rayon::prelude::*;
use super::links::{LinkText, link_texts};
use crate::random::Random;

type Counts = Vec<(u32, u32)>;
pub struct C { page: u32, body: Counts, title: Counts, own: Counts, heads: Counts, path: Counts }
pub struct Corpus { pub name: String, chunks: Vec<C>, qs: Vec<(Vec<(u32,u32)>, Vec<u32>, Vec<u32>)>, terms: usize }

pub fn load(path: &str) -> Corpus {
    let folder = Folder::open(Path::new(path)).unwrap();
    let files: Vec<(String,String)> = folder.list().unwrap().files.into_iter().map(|f| { let (b,_) = folder.read(&f.path).unwrap(); (f.path, String::from_utf8_lossy(&b).into_owned()) }).collect();
    let mut texts = link_texts(&files);
    Random::new(1).shuffle(&mut texts); texts.truncate(600);
    let mut ids: HashMap<String,u32> = HashMap::new();
    let docs: Vec<_> = files.par_iter().map(|(p,t)| document::read(p,t.as_bytes())).collect();
    let mut langs: Vec<Language> = docs.iter().map(|d| d.language).collect(); langs.sort(); langs.dedup();
    let pages: HashMap<&str,u32> = files.iter().enumerate().map(|(i,(p,_))| (p.as_str(), i as u32)).collect();
    let mut chunks = vec![];
    let mut conv = |bag: words::Bag, w: u32| -> Counts { bag.iter().map(|(t,c)| { let n=ids.len() as u32; (*ids.entry(t.to_owned()).or_insert(n), c/w) }).collect() };
    for (i,((p,_),d)) in files.iter().zip(&docs).enumerate() {
        for s in &d.chunks {
            let l=d.language;
            let (own,above): (Vec<String>,Vec<String>) = match s.headings.split_last() { Some((o,a)) => (vec![o.clone()],a.to_vec()), None => (vec![],vec![]) };
            let mut a2=above.clone(); a2.push(String::new());
            chunks.push(C{page:i as u32, body: conv(words::bag("","",&[],&s.plain,l),weights::BODY), title: conv(words::bag("",&d.title,&[],"",l),weights::TITLE),
              own: conv(words::bag("","",&own,"",l),weights::OWN_HEADING), heads: conv(words::bag("","",&a2,"",l),weights::HEADING), path: conv(words::bag(p,"",&[],"",l),weights::PATH)});
        }
    }
    let qs = texts.iter().map(|LinkText{text,targets,linking}| (
        words::question(text,&langs).into_iter().filter_map(|(t,n)| Some((*ids.get(&t)?,n))).collect(),
        targets.iter().map(|t| pages[t.as_str()]).collect(), linking.iter().map(|t| pages[t.as_str()]).collect())).collect();
    let _ = ChunkId(0);
    eprintln!("{path}: {} files {} chunks {} queries {:?}", files.len(), chunks.len(), texts.len(), langs);
    Corpus{name:path.to_owned(),chunks,qs,terms:ids.len()}
}
#[derive(Clone,Copy,Debug)]
pub struct Conf { pub t:f32, pub h:f32, pub o:f32, pub p:f32, pub pow:f32, pub k1:f32, pub b:f32 }
fn len(c:&Counts)->f32 { c.iter().map(|x| x.1).sum::<u32>() as f32 }
impl Corpus {
    pub fn mrr(&self, f: Conf) -> Vec<f32> {
        let w=|x:f32,c:&Counts| { if x==0.0 {0} else { ((x/len(c).max(1.0).powf(f.pow)).round() as u32).max(1) } };
        let mut post: Vec<Vec<(u32,f32)>> = vec![vec![]; self.terms];
        let mut need = vec![false; self.terms];
        for q in &self.qs { for (t,_) in &q.0 { need[*t as usize]=true; } }
        let mut lens=vec![];
        for (i,c) in self.chunks.iter().enumerate() {
            let mut m: HashMap<u32,u32> = HashMap::new(); let mut l=0u32;
            for (fld,w) in [(&c.body,1),(&c.title,w(f.t,&c.title)),(&c.own,w(f.o,&c.own)),(&c.heads,w(f.h,&c.heads)),(&c.path,w(f.p,&c.path))] {
                for (t,n) in fld { l+=n*w; if need[*t as usize] && w>0 { *m.entry(*t).or_default()+=n*w; } }
            }
            for (t,n) in m { post[t as usize].push((i as u32,n as f32)); }
            lens.push(l as f32);
        }
        let n=lens.len() as f32; let avg=lens.iter().sum::<f32>()/n;
        let norm: Vec<f32>=lens.iter().map(|l| f.k1*(1.0-f.b+f.b*l/avg)).collect();
        self.qs.par_iter().map(|(ts,tg,ln)| {
            let mut s=vec![0f32; lens.len()];
            for (t,c) in ts { let p=&post[*t as usize]; let df=p.len() as f32; let idf=(1.0+(n-df+0.5)/(df+0.5)).ln()*(*c as f32);
                for (d,tf) in p { s[*d as usize]+=idf*tf*(f.k1+1.0)/(tf+norm[*d as usize]); } }
            let mut best=0f32; for (i,c) in self.chunks.iter().enumerate() { if tg.contains(&c.page) && s[i]>best { best=s[i]; } }
            if best==0.0 { return 0.0; }
            let mut r=1; for (i,c) in self.chunks.iter().enumerate() { if s[i]>best && !ln.contains(&c.page) { r+=1; } }
            if r<=10 { 1.0/r as f32 } else { 0.0 }
        }).collect()
    }
}
pub fn run(paths:&[String]) {
    let cs: Vec<Corpus>=paths.iter().map(|p| load(p)).collect();
    for line in std::io::stdin().lines() {
        let line=line.unwrap(); let v: Vec<f32>=line.split_whitespace().filter_map(|x| x.parse().ok()).collect();
        if v.len()<7 { continue; }
        let f=Conf{t:v[0],h:v[1],o:v[2],p:v[3],pow:v[4],k1:v[5],b:v[6]};
        let r: Vec<f32>=cs.iter().map(|c| { let m=c.mrr(f); m.iter().sum::<f32>()/m.len() as f32 }).collect();
        println!("{line:32} {} | {:.4}", r.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(" "), r.iter().sum::<f32>()/r.len() as f32);
    }
}
