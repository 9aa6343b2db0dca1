// adc opt --passes=share-calls
// An iteration changes what the function reads: only the second of the two calls in it has been made.

func.func @g(%x: memref<?xf64> {adc.name = "x", adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = math.sin %a : f64
  func.return %b : f64
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %n: index) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = func.call @g(%x) : (memref<?xf64>) -> f64
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0) -> (f64) {
    %2 = func.call @g(%x) : (memref<?xf64>) -> f64
    %3 = func.call @g(%x) : (memref<?xf64>) -> f64
    %4 = arith.addf %2, %3 : f64
    memref.store %4, %x[%c0] : memref<?xf64>
    scf.yield %4 : f64
  }
  %5 = func.call @g(%x) : (memref<?xf64>) -> f64
  %6 = arith.addf %1, %5 : f64
  func.return %6 : f64
}

// becomes
func.func @g(%x: memref<?xf64> {adc.name = "x", adc.readonly = true}) -> f64 {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = math.sin %a : f64
  func.return %b : f64
}

func.func @f(%x: memref<?xf64> {adc.name = "x"}, %n: index) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = func.call @g(%x) : (memref<?xf64>) -> f64
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %0) -> (f64) {
    %2 = func.call @g(%x) : (memref<?xf64>) -> f64
    %3 = arith.addf %2, %2 : f64
    memref.store %3, %x[%c0] : memref<?xf64>
    scf.yield %3 : f64
  }
  %4 = func.call @g(%x) : (memref<?xf64>) -> f64
  %5 = arith.addf %1, %4 : f64
  func.return %5 : f64
}
