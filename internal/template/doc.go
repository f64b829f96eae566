// Package template renders manifests for one destination: fast templates, in
// which two placeholders are replaced, and generators, which are Go templates
// with the functions of sprig.
//
// Templates come from users and are not trusted. None reads the environment,
// the network or files, and what one may use is bounded: output, documents,
// steps, the size of every value, and by the context of the caller time. Data
// that is given to a template is never changed by it.
//
// The functions are those of sprig without env, expandenv and getHostByName,
// and those of [Functions]. Of them, now and ago know the time that the caller
// gives, and dates have the time zone UTC unless they name one; rand*, shuffle,
// uuidv4, gen*, bcrypt, htpasswd, encryptAES and the functions for age keys
// give other values at every render.
package template
