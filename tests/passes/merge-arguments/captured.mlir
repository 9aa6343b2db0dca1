// adc opt --passes=merge-arguments
// Both calls pass one array twice: it is one argument, which overlaps no other any more. The other two arguments differ in one call.

func.func @g(%x: memref<?xf64> {adc.alias = 0, adc.name = "x", adc.readonly = true}, %y: memref<?xf64> {adc.alias = 0, adc.name = "y"}, %s: f64, %t: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = arith.mulf %a, %s : f64
  memref.store %b, %y[%c0] : memref<?xf64>
  %c = arith.addf %b, %t : f64
  func.return %c : f64
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %s: f64, %t: f64) -> f64 attributes {adc.entry = true} {
  %a = func.call @g(%x, %x, %s, %s) : (memref<?xf64>, memref<?xf64>, f64, f64) -> f64
  %b = func.call @g(%x, %x, %a, %t) : (memref<?xf64>, memref<?xf64>, f64, f64) -> f64
  func.return %b : f64
}

// becomes
func.func @g(%x: memref<?xf64> {adc.name = "x"}, %s: f64, %t: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = arith.mulf %a, %s : f64
  memref.store %b, %x[%c0] : memref<?xf64>
  %c = arith.addf %b, %t : f64
  func.return %c : f64
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %s: f64, %t: f64) -> f64 attributes {adc.entry = true} {
  %a = func.call @g(%x, %s, %s) : (memref<?xf64>, f64, f64) -> f64
  %b = func.call @g(%x, %a, %t) : (memref<?xf64>, f64, f64) -> f64
  func.return %b : f64
}
