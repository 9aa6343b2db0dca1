// adc opt --passes=inline{anywhere=true}
// What a function says about memory is seen in its caller if it is hardly more than its call, loops or none.

func.func @inner(%a: memref<?xf64> {adc.readonly = true}) -> memref<?xf64, strided<[1], offset: ?>> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-2 = arith.constant -2 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  %0 = arith.addi %n, %c-2 : index
  %1 = arith.maxsi %0, %c0 : index
  %2 = memref.subview %a[%c1][%1][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  func.return %2 : memref<?xf64, strided<[1], offset: ?>>
}

func.func @f(%x: memref<?xf64>, %i: index) -> f64 attributes {adc.entry = true} {
  %y = func.call @inner(%x) : (memref<?xf64>) -> memref<?xf64, strided<[1], offset: ?>>
  %z = memref.load %y[%i] : memref<?xf64, strided<[1], offset: ?>>
  func.return %z : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-2 = arith.constant -2 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %0 = arith.addi %n, %c-2 : index
  %1 = arith.maxsi %0, %c0 : index
  %y = memref.subview %x[%c1][%1][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %z = memref.load %y[%i] : memref<?xf64, strided<[1], offset: ?>>
  func.return %z : f64
}
