# A release by a portable file of dp-designer, in base R (4.0 or later) without packages.
#
#   Rscript release.R portable.txt counts.txt release.json [--random-hex FILE] [--time 2026-01-31T12:00:00Z]
#
# counts.txt: one whole number a line, in the order of the elements. Random bytes come from /dev/urandom; a file of them is for
# tests alone, because noise from bytes that somebody knows hides nothing. The format and the rules, which this follows to the
# bit: docs/guides/other_languages.md. Base R has no long whole numbers, so they stand here as digits of base 10^6, the lowest first.

BASE <- 1e6
ZERO <- numeric(0)

trim <- function(a) {
  while (length(a) && a[length(a)] == 0) a <- a[-length(a)]
  a
}

carry <- function(a) {
  rest <- 0
  for (i in seq_along(a)) {
    here <- a[i] + rest
    rest <- floor(here / BASE)
    a[i] <- here - rest * BASE
  }
  while (rest > 0) {
    a <- c(a, rest %% BASE)
    rest <- floor(rest / BASE)
  }
  trim(a)
}

long <- function(text) {
  ends <- rev(seq(nchar(text), 1, by = -6))
  trim(rev(as.numeric(substring(text, pmax(1, ends - 5), ends))))
}

digits <- function(a) {
  if (!length(a)) return("0")
  top <- length(a)
  paste0(sprintf("%.0f", a[top]), paste0(sprintf("%06.0f", rev(a[-top])), collapse = ""))
}

compared <- function(a, b) {  # -1, 0, 1
  if (length(a) != length(b)) return(sign(length(a) - length(b)))
  differ <- which(a != b)
  if (!length(differ)) return(0)
  last <- differ[length(differ)]
  sign(a[last] - b[last])
}

padded <- function(a, n) c(a, numeric(n - length(a)))

plus <- function(a, b) {
  n <- max(length(a), length(b))
  carry(padded(a, n) + padded(b, n))
}

minus <- function(a, b) carry(a - padded(b, length(a)))  # of a at least b; floor() borrows

times <- function(a, b) {
  if (!length(a) || !length(b)) return(ZERO)
  product <- numeric(length(a) + length(b))
  for (i in seq_along(a)) {
    where <- i:(i + length(b) - 1)
    product[where] <- product[where] + a[i] * b
  }
  carry(product)
}

near <- function(a, from) {  # a without its lowest `from` digits, as a float
  value <- 0
  if (length(a) > from) for (i in length(a):(from + 1)) value <- value * BASE + a[i]
  value
}

divided <- function(a, b) {  # the whole part of a / b
  quotient <- numeric(length(a))
  rest <- ZERO
  from <- max(0, length(b) - 4)
  for (i in rev(seq_along(a))) {
    rest <- trim(c(a[i], rest))
    guess <- max(0, floor(near(rest, from) / near(b, from)) - 1)  # at most the digit, and at least two below it
    rest <- minus(rest, times(long(sprintf("%.0f", guess)), b))
    while (compared(rest, b) >= 0) {
      rest <- minus(rest, b)
      guess <- guess + 1
    }
    quotient[i] <- guess
  }
  trim(quotient)
}

powers <- list(1)  # of two

power_of_two <- function(k) {
  while (length(powers) <= k) powers[[length(powers) + 1]] <<- plus(powers[[length(powers)]], powers[[length(powers)]])
  powers[[k + 1]]
}

bit_length <- function(a) {
  if (!length(a)) return(0)
  k <- max(0, floor(log2(near(a, max(0, length(a) - 4))) + 6 * log2(10) * max(0, length(a) - 4)) - 1)
  while (compared(power_of_two(k), a) <= 0) k <- k + 1
  k
}

# Random bytes.

bytes_of <- function(path) {
  if (is.null(path)) {
    device <- file("/dev/urandom", "rb", raw = TRUE)
    return(function(count) as.integer(readBin(device, "raw", count)))
  }
  text <- paste0(readLines(path, warn = FALSE), collapse = "")
  known <- strtoi(substring(text, seq(1, nchar(text) - 1, by = 2), seq(2, nchar(text), by = 2)), 16L)
  used <- 0
  function(count) {
    used <<- used + count
    if (used > length(known)) stop("random: too few bytes")
    known[(used - count + 1):used]
  }
}

uniform <- function(limit, read) {  # from 0 to limit - 1
  bits <- bit_length(minus(limit, 1))
  if (bits == 0) return(ZERO)
  count <- ceiling(bits / 8)
  repeat {
    bytes <- read(count)
    if (length(bytes) != count) stop("random: too few bytes")
    bytes[1] <- bytes[1] %% 2^(bits - 8 * (count - 1))
    number <- ZERO
    for (byte in bytes) number <- plus(times(number, 256), trim(byte))
    if (compared(number, limit) < 0) return(number)
  }
}

small_chance <- function(over, under, read) {  # exp(-over / under), over at most under
  k <- 1
  while (compared(uniform(times(under, long(sprintf("%.0f", k))), read), over) < 0) k <- k + 1
  k %% 2 == 1
}

exp_chance <- function(over, under, read) {
  while (compared(over, under) > 0) {
    if (!small_chance(1, 1, read)) return(FALSE)
    over <- minus(over, under)
  }
  small_chance(over, under, read)
}

laplace <- function(numbers, read) {  # list(sign, size)
  s <- numbers[[1]]
  t <- numbers[[2]]
  repeat {
    low <- uniform(t, read)
    if (!small_chance(low, t, read)) next
    high <- 0
    while (small_chance(1, 1, read)) high <- high + 1
    size <- divided(plus(low, times(t, trim(high))), s)
    negative <- length(uniform(2, read)) > 0
    if (length(size) || !negative) return(list(negative = negative, size = size))
  }
}

gaussian <- function(numbers, read) {
  p <- numbers[[1]]
  q <- numbers[[2]]
  t <- numbers[[3]]
  under <- times(times(2, times(p, q)), times(t, t))
  repeat {
    z <- laplace(list(1, t), read)
    reached <- times(times(z$size, q), t)
    gap <- if (compared(reached, p) >= 0) minus(reached, p) else minus(p, reached)
    if (exp_chance(times(gap, gap), under, read)) return(z)
  }
}

# Whole numbers with a sign.

added <- function(a, b) {
  if (a$negative == b$negative) return(list(negative = a$negative, size = plus(a$size, b$size)))
  if (compared(a$size, b$size) >= 0) return(list(negative = a$negative, size = minus(a$size, b$size)))
  list(negative = b$negative, size = minus(b$size, a$size))
}

signed <- function(text) list(negative = startsWith(text, "-"), size = long(sub("-", "", text, fixed = TRUE)))

signed_digits <- function(a) paste0(if (a$negative && length(a$size)) "-" else "", digits(a$size))

# SHA-256, of words as pairs of 16 bits.

SHA_START <- "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19"
SHA_ROUNDS <- paste0(
  "428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5d807aa9812835b01243185be550c7dc3",
  "72be5d7480deb1fe9bdc06a7c19bf174e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da",
  "983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca63511429296727b70a852e1b21384d2c6dfc53380d13",
  "650a7354766a0abb81c2c92e92722c85a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070",
  "19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3748f82ee78a5636f84c878148cc70208",
  "90befffaa4506cebbef9a3f7c67178f2")

halves <- function(hex) {
  starts <- seq(1, nchar(hex), by = 4)
  matrix(strtoi(substring(hex, starts, starts + 3), 16L), nrow = 2)
}

turned <- function(w, n) {
  if (n >= 16) w <- rev(w)
  n <- n %% 16
  w %/% 2^n + (rev(w) %% 2^n) * 2^(16 - n)
}

shifted <- function(w, n) c(w[1] %/% 2^n, w[2] %/% 2^n + (w[1] %% 2^n) * 2^(16 - n))  # n below 16

summed <- function(...) {
  total <- Reduce(`+`, list(...))
  low <- total[2] %% 65536
  c((total[1] + total[2] %/% 65536) %% 65536, low)
}

xored <- function(...) Reduce(bitwXor, list(...))

sha256 <- function(text) {
  bytes <- as.integer(charToRaw(text))
  size <- length(bytes) * 8
  bytes <- c(bytes, 128L, integer((55 - length(bytes)) %% 64), (size %/% 2^(8 * (7:0))) %% 256)
  words <- matrix(bytes[c(TRUE, FALSE)] * 256 + bytes[c(FALSE, TRUE)], nrow = 2)
  rounds <- halves(SHA_ROUNDS)
  state <- halves(SHA_START)
  for (block in seq_len(ncol(words) / 16)) {
    w <- cbind(words[, (16 * block - 15):(16 * block)], matrix(0, 2, 48))
    for (i in 17:64) {
      a <- w[, i - 15]
      b <- w[, i - 2]
      w[, i] <- summed(w[, i - 16], xored(turned(a, 7), turned(a, 18), shifted(a, 3)), w[, i - 7],
                       xored(turned(b, 17), turned(b, 19), shifted(b, 10)))
    }
    v <- state
    for (i in 1:64) {
      e <- v[, 5]
      first <- summed(v[, 8], xored(turned(e, 6), turned(e, 11), turned(e, 25)),
                      xored(bitwAnd(e, v[, 6]), bitwAnd(65535 - e, v[, 7])), rounds[, i], w[, i])
      a <- v[, 1]
      second <- summed(xored(turned(a, 2), turned(a, 13), turned(a, 22)),
                       xored(bitwAnd(a, v[, 2]), bitwAnd(a, v[, 3]), bitwAnd(v[, 2], v[, 3])))
      v <- cbind(summed(first, second), v[, 1:3], summed(v[, 4], first), v[, 5:7])
    }
    for (i in 1:8) state[, i] <- summed(state[, i], v[, i])
  }
  paste0(sprintf("%04x", as.integer(state)), collapse = "")
}

# 15 significant digits, as Python writes floats.

number_text <- function(value) {
  if (!is.finite(value)) stop("answer: is beyond the floats")
  parts <- strsplit(sprintf("%.14e", abs(value)), "e", fixed = TRUE)[[1]]
  shown <- sub("0+$", "", sub(".", "", parts[1], fixed = TRUE))
  if (shown == "") shown <- "0"
  power <- as.integer(parts[2])
  minus_sign <- if (value < 0) "-" else ""
  if (power < -4 || power >= 16) {
    rest <- if (nchar(shown) > 1) paste0(".", substring(shown, 2)) else ""
    return(sprintf("%s%s%se%s%02d", minus_sign, substr(shown, 1, 1), rest, if (power < 0) "-" else "+", abs(power)))
  }
  if (power < 0) return(paste0(minus_sign, "0.", strrep("0", -power - 1), shown))
  whole <- paste0(shown, strrep("0", max(0, power + 1 - nchar(shown))))
  fraction <- substring(whole, power + 2)
  paste0(minus_sign, substr(whole, 1, power + 1), ".", if (fraction == "") "0" else fraction)
}

# The release.

entries <- function(fields) lapply(strsplit(fields, ":", fixed = TRUE), function(pair) list(as.integer(pair[1]) + 1, pair[2]))

released <- function(portable, counts, read, time) {
  lines <- strsplit(readLines(portable, warn = FALSE), "\t", fixed = TRUE)
  keys <- vapply(lines, `[`, "", 1)
  if (!identical(lines[[1]], c("dp-designer-portable", "1"))) stop("portable: is no portable file of version 1")
  if (!identical(lines[[length(lines)]], c("end", "dp-designer-portable"))) stop("portable: is cut off")
  of_key <- function(key) lapply(lines[keys == key], `[`, -1)
  size <- as.integer(of_key("elements")[[1]])
  if (length(counts) != size || !all(grepl("^[0-9]{1,15}$", counts))) {
    stop("counts: must hold one whole number of at most 15 digits for each element")
  }
  draw <- list(discrete_laplace = laplace, discrete_gaussian = gaussian)[[of_key("law")[[1]]]]
  coordinates <- of_key("coordinate")
  noise <- lapply(coordinates, function(line) draw(lapply(line[-(1:2)], long), read))
  rows <- of_key("row")
  whole <- lapply(seq_along(rows), function(k) {
    sum <- noise[[k]]
    for (entry in entries(rows[[k]][-1])) {
      factor <- signed(entry[[2]])
      factor$size <- times(factor$size, long(counts[entry[[1]]]))
      sum <- added(sum, factor)
    }
    sum
  })
  steps <- 2^vapply(coordinates, function(line) as.numeric(line[2]), 0)
  measured <- vapply(whole, function(n) near(n$size, 0) * (if (n$negative) -1 else 1), 0) * steps
  rebuild <- of_key("rebuild")
  answers <- if (!length(rebuild)) measured else vapply(rebuild, function(line) {
    sum(vapply(entries(line[-1]), function(entry) as.numeric(entry[[2]]) * measured[entry[[1]]], 0))
  }, 0)
  pieces <- vapply(of_key("piece"), function(piece) {
    place <- if (piece[1] %in% c("answer", "multiple")) as.integer(piece[2]) + 1
    switch(piece[1],
      text = piece[2], time = paste0("\"", time, "\""), answer = number_text(answers[place]),
      multiple = signed_digits(whole[[place]]))
  }, "")
  body <- paste0(pieces, collapse = "")
  paste0("{\"seal\":\"", sha256(body), "\",", substring(body, 2), "\n")
}

main <- function(arguments) {
  option <- function(name) if (name %in% arguments) arguments[which(arguments == name) + 1]
  time <- option("--time")
  if (is.null(time)) time <- format(Sys.time(), "%Y-%m-%dT%H:%M:%SZ", tz = "UTC")
  if (file.exists(arguments[3])) stop("release: the file exists")
  counts <- scan(arguments[2], what = "", quiet = TRUE)
  text <- released(arguments[1], counts, bytes_of(option("--random-hex")), time)
  cat(text, file = arguments[3])
}

if (!interactive()) {
  known <- "^(counts|portable|random|answer|release):"
  tryCatch(main(commandArgs(trailingOnly = TRUE)), error = function(failure) {
    words <- conditionMessage(failure)
    message("release: ", if (grepl(known, words)) words else "failed")
    quit(status = 1)
  })
}
